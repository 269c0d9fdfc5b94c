"""The gate that every dataset passes on its way into a prepared folder."""

import csv
import io
import re
import zipfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from types import TracebackType

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.files import replacing, write_csv
from crossmodal.prepared import (
    CAPTION_COLUMNS,
    FILES,
    ITEM_COLUMNS,
    SPLIT_COLUMNS,
    SPLITS,
    Caption,
    Item,
)


class Writer:
    """Collects a dataset and writes its four files when all of it is there.

    The gate that every dataset passes: whatever later steps could not make sense of is refused,
    with the item's or caption's id. Use as a context manager: if the block fails, or writing does,
    nothing is left behind.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.items: dict[str, Item] = {}
        self.captions: dict[str, Caption] = {}
        self.splits: dict[str, str] = {}
        self.matrices: set[str] = set()

    def __enter__(self) -> "Writer":
        with ExitStack() as stack:
            files = {name: stack.enter_context(replacing(self.folder / name)) for name in FILES}
            archive = zipfile.ZipFile(files["media.zip"], "w", zipfile.ZIP_STORED)
            self._media = stack.enter_context(archive)
            self._files, self._stack = files, stack.pop_all()
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            if error is not None:
                raise error
            self._write_tables()

    def item(
        self,
        id: str,
        split: str,
        category: str = "",
        labels: tuple[str, ...] = (),
        image: bytes | None = None,
        suffix: str = "",
    ) -> None:
        """Add an item.

        Args:
            id: Unique id.
            split: 'train', 'validation' or 'test'.
            category: The single label, if there is one.
            labels: All labels; the category alone if left out.
            image: Encoded image file.
            suffix: File suffix of the image, '.jpg' say.

        Raises:
            CrossmodalError: If the id was given before or is no name, the split is unknown, a label
                is empty or has a `;`, or the image is empty.
        """
        if id in self.items:
            first = self.splits[id]
            raise self._refusal(f"item {id!r}", f"is there twice, in {first!r} and in {split!r}")
        if split not in SPLITS:
            raise self._refusal(f"item {id!r}", f"split {split!r} is not of {SPLITS}")
        labels = labels or ((category,) if category else ())
        for label in labels:
            if not label.strip() or ";" in label:
                raise self._refusal(f"item {id!r}", f"label {label!r} is empty or has a ';'")
        member = self._store(f"item {id!r}", "images", id, suffix, image)
        self.items[id] = Item(id, category, labels, member)
        self.splits[id] = split

    def caption(
        self,
        id: str,
        item: str,
        text: str = "",
        audio: bytes | None = None,
        suffix: str = "",
        tags: bool = False,
    ) -> None:
        """Add a caption of an item: text, an encoded audio file, or both.

        Args:
            id: Unique id.
            item: Id of the item.
            text: What is said.
            audio: Encoded audio file.
            suffix: File suffix of the audio, '.wav' say.
            tags: The text is a list of tags, which may be empty.

        Raises:
            CrossmodalError: If the id was given before or is no name, there is no such item, or
                text and audio are both missing.
        """
        if id in self.captions:
            raise self._refusal(f"caption {id!r}", "is there twice")
        if item not in self.items:
            raise self._refusal(f"caption {id!r}", f"is of unknown item {item!r}")
        if not text.strip() and audio is None and not tags:
            raise self._refusal(f"caption {id!r}", "has neither text nor audio")
        if not _is_writable(text):
            raise self._refusal(f"caption {id!r}", f"text {text[:40]!r} cannot be kept in a CSV")
        member = self._store(f"caption {id!r}", "speech", id, suffix, audio)
        self.captions[id] = Caption(id, item, text, member)

    def published(self, name: str, matrix: np.ndarray) -> None:
        """Add a feature matrix that the dataset's authors published, one row per item in order."""
        stream = io.BytesIO()
        np.save(stream, matrix, allow_pickle=False)
        self._store(f"matrix {name!r}", "published", name, ".npy", stream.getvalue())
        self.matrices.add(name)

    def _store(self, where: str, folder: str, id: str, suffix: str, content: bytes | None) -> str:
        """Put a file into media.zip under the id, if there is one; its path."""
        member = f"{folder}/{id}{suffix}"
        path = PurePosixPath(member)
        if not re.fullmatch(r"(\.\w+)?", suffix, re.ASCII):
            raise self._refusal(where, f"{suffix!r} is no suffix of a file")
        if not (id.strip() and id.isprintable() and str(path) == member and ".." not in path.parts):
            raise self._refusal(where, "is no name for a file")
        if content is None:
            return ""
        if not content:
            raise self._refusal(where, "its file is empty")
        # a fixed date keeps the archive's bytes the same from run to run
        self._media.writestr(zipfile.ZipInfo(member), content)
        return member

    def _refusal(self, where: str, reason: str) -> CrossmodalError:
        return CrossmodalError(f"{self.folder}: {where}: {reason}; correct the raw files")

    def _write_tables(self) -> None:
        items = ([i.id, i.category, ";".join(i.labels), i.image] for i in self.items.values())
        write_csv(self._files["items.csv"], ITEM_COLUMNS, items)
        captions = ([c.id, c.item, c.text, c.audio] for c in self.captions.values())
        write_csv(self._files["captions.csv"], CAPTION_COLUMNS, captions)
        write_csv(self._files["splits.csv"], SPLIT_COLUMNS, self.splits.items())

    def check(self, counts: dict[str, int] | None) -> None:
        """Compare the splits with what the dataset declares, and see that nothing is missing.

        Args:
            counts: Items of each split; None if the dataset declares nothing.

        Raises:
            CrossmodalError: If a split has another number of items, or an item has no caption;
                items that are described by published matrices need none.
        """
        found = Counter(self.splits.values())
        declared = found if counts is None else counts
        for split in SPLITS:
            if found[split] != declared.get(split, 0):
                raise CrossmodalError(
                    f"{self.folder}: {found[split]} items in split {split!r}, but the dataset "
                    f"declares {declared.get(split, 0)}; the raw files are not the published ones"
                )
        described = {caption.item for caption in self.captions.values()}
        for id in self.items:
            if id not in described and not self.matrices:
                raise self._refusal(f"item {id!r}", "has no caption")


def _is_writable(text: str) -> bool:
    """Whether a text comes back from a UTF-8 CSV as it was."""
    try:
        return len(text.encode()) < csv.field_size_limit()
    except UnicodeEncodeError:
        return False
