"""Writer of prepared datasets, which validates everything that it is given."""

import io
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from types import TracebackType

import numpy as np

from crossmodal.data.prepared import (
    CAPTION_COLUMNS,
    FILES,
    ITEM_COLUMNS,
    REMARKS,
    SPLIT_COLUMNS,
    SPLITS,
    Caption,
    Item,
)
from crossmodal.data.word_times import MEMBER, SpokenWord, Times, is_ordered, to_bytes
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import LONGEST_FIELD, replacing, write_csv, write_json
from crossmodal.io.relative_names import defect

NOT_IN_NAMES = {"Cc", "Cs", "Zl", "Zp"}  # controls, half letters, ends of lines and paragraphs


class Writer:
    """Collects a dataset and writes its files when it is complete.

    Whatever later steps could not process is refused, with the id of the item or caption. Use as a
    context manager: if the block or writing fails, nothing is left behind.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.items: dict[str, Item] = {}
        self.captions: dict[str, Caption] = {}
        self.splits: dict[str, str] = {}
        self.matrices: set[str] = set()
        self.remarks: list[str] = []
        self.words: Times = {}

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
            suffix: File suffix of the image, such as '.jpg'.

        Raises:
            CrossmodalError: If the id was given before or is not a file name, the split is unknown,
                a label is empty or has a `;`, or the image is empty.
        """
        if id in self.items:
            first = self.splits[id]
            raise self._refusal(f"item {id!r}", f"occurs twice, in {first!r} and in {split!r}")
        if split not in SPLITS:
            raise self._refusal(f"item {id!r}", f"split {split!r} is not one of {SPLITS}")
        labels = labels or ((category,) if category else ())
        for label in labels:
            if not label.strip() or ";" in label or not is_writable(label):
                raise self._refusal(
                    f"item {id!r}", f"label {label!r} is empty, has a ';' or cannot be stored"
                )
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
        words: Sequence[tuple[str, float, float]] = (),
    ) -> None:
        """Add a caption of an item: text, an encoded audio file, or both.

        Args:
            id: Unique id.
            item: Id of the item.
            text: What is said.
            audio: Encoded audio file.
            suffix: File suffix of the audio, such as '.wav'.
            tags: The text is a list of tags, which may be empty.
            words: What is said, where that is known: word, start and end in seconds.

        Raises:
            CrossmodalError: If the id was given before or is not a file name, the item is unknown,
                text and audio are both missing, or the words are not one after the other.
        """
        if id in self.captions:
            raise self._refusal(f"caption {id!r}", "occurs twice")
        if item not in self.items:
            raise self._refusal(f"caption {id!r}", f"belongs to the unknown item {item!r}")
        if not text.strip() and audio is None and not tags:
            raise self._refusal(f"caption {id!r}", "has neither text nor audio")
        if not is_writable(text):
            raise self._refusal(f"caption {id!r}", f"text {text[:40]!r} cannot be stored in a CSV")
        member = self._store(f"caption {id!r}", "speech", id, suffix, audio)
        self.captions[id] = Caption(id, item, text, member)
        if words:
            self.words[id] = [SpokenWord(*word) for word in words]
            if not is_ordered(self.words[id]):
                raise self._refusal(f"caption {id!r}", "has words that are not in order of speech")

    def published(self, name: str, matrix: np.ndarray) -> None:
        """Add a feature matrix that the dataset's authors published, one row per item in order."""
        stream = io.BytesIO()
        np.save(stream, matrix, allow_pickle=False)
        self._store(f"matrix {name!r}", "published", name, ".npy", stream.getvalue())
        self.matrices.add(name)

    def remark(self, text: str) -> None:
        """Add a remark on the data, which tables of experiments on it print as a note.

        Args:
            text: A predicate such as 'has 3 clips without samples'; the dataset is its subject.
        """
        self.remarks.append(text)

    def _store(self, where: str, folder: str, id: str, suffix: str, content: bytes | None) -> str:
        """Put a file into media.zip under the id, if there is one; its path."""
        member = f"{folder}/{id}{suffix}"
        if not re.fullmatch(r"(\.\w+)?", suffix, re.ASCII):
            raise self._refusal(where, f"{suffix!r} is not a file suffix")
        if not is_file_name(id):
            raise self._refusal(where, "is not a file name")
        if content is None:
            return ""
        if not content:
            raise self._refusal(where, "its file is empty")
        # a fixed date makes the archive's bytes reproducible
        self._media.writestr(zipfile.ZipInfo(member), content)
        return member

    def _refusal(self, where: str, reason: str) -> CrossmodalError:
        return CrossmodalError(f"{self.folder}: {where}: {reason}; correct the raw files")

    def _write_tables(self) -> None:
        for caption in self.captions.values():
            if caption.id != caption.item and caption.id in self.items:
                where = f"caption {caption.id!r} of item {caption.item!r}"
                raise self._refusal(where, "has the id of another item")
        if self.words:
            self._media.writestr(zipfile.ZipInfo(MEMBER), to_bytes(self.words))
        items = ([i.id, i.category, ";".join(i.labels), i.image] for i in self.items.values())
        write_csv(self._files["items.csv"], ITEM_COLUMNS, items)
        captions = ([c.id, c.item, c.text, c.audio] for c in self.captions.values())
        write_csv(self._files["captions.csv"], CAPTION_COLUMNS, captions)
        write_csv(self._files["splits.csv"], SPLIT_COLUMNS, self.splits.items())
        (self.folder / REMARKS).unlink(missing_ok=True)
        if self.remarks:
            write_json(self.folder / REMARKS, self.remarks)

    def check(self, counts: dict[str, int] | None) -> None:
        """Check the sizes of the splits, and that no item lacks a caption.

        Args:
            counts: Items of each split; None if the dataset declares nothing.

        Raises:
            CrossmodalError: If a split has another number of items, or an item has no caption;
                items that are described by published matrices need none.
        """
        sizes = Counter(self.splits.values())
        declared = sizes if counts is None else counts
        for split in SPLITS:
            if sizes[split] != declared.get(split, 0):
                raise CrossmodalError(
                    f"{self.folder}: {sizes[split]} items in split {split!r}, but the dataset "
                    f"declares {declared.get(split, 0)}; the raw files are not the published ones"
                )
        described = {caption.item for caption in self.captions.values()}
        for id in self.items:
            if id not in described and not self.matrices:
                raise self._refusal(f"item {id!r}", "has no caption")


def is_file_name(id: str) -> bool:
    """Return true if an id can name a file, with folders before it or not, on any system."""
    # not str.isprintable: the no-break spaces of screenshots and joiners of emoji do not print
    legal = NOT_IN_NAMES.isdisjoint(map(unicodedata.category, id))
    return bool(id.strip() and legal and not defect(id) and str(PurePosixPath(id)) == id)


def is_writable(text: str) -> bool:
    """Return whether a text survives being written to a UTF-8 CSV and read again."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text and len(text) <= LONGEST_FIELD
