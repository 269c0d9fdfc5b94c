"""Prepared datasets: the only thing later steps know of a dataset.

A folder with four files. `items.csv`: id, category (the single-label protocol), labels (the
multi-label protocol, separated by `;`), image (member of media.zip or empty). `captions.csv`: id,
item, text, audio (member of media.zip or empty). `splits.csv`: item, split. `media.zip`: images,
spoken captions and feature matrices that the dataset's authors published, not compressed again.
"""

import io
import zipfile
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.files import read_csv, replacing, write_csv

SPLITS = ("train", "validation", "test")
ITEM_COLUMNS = ["id", "category", "labels", "image"]
CAPTION_COLUMNS = ["id", "item", "text", "audio"]
SPLIT_COLUMNS = ["item", "split"]
FILES = ("items.csv", "captions.csv", "splits.csv", "media.zip")


@dataclass(frozen=True)
class Item:
    """One image, or one pair, with its labels."""

    id: str
    category: str
    labels: tuple[str, ...]
    image: str


@dataclass(frozen=True)
class Caption:
    """One description of an item: text, speech or both."""

    id: str
    item: str
    text: str
    audio: str


class Writer:
    """Collects a dataset and writes its four files when all of it is there.

    Use as a context manager: if the block fails, nothing is left behind.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.items: dict[str, Item] = {}
        self.captions: dict[str, Caption] = {}
        self.splits: dict[str, str] = {}

    def __enter__(self) -> "Writer":
        self._replacing = replacing(self.folder / "media.zip")
        self._media = zipfile.ZipFile(self._replacing.__enter__(), "w", zipfile.ZIP_STORED)
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._media.close()
        if error is None:
            self._write_tables()
        self._replacing.__exit__(kind, error, trace)

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
            CrossmodalError: If the id was given before, the split is unknown, or a label has a `;`.
        """
        if id in self.items:
            raise CrossmodalError(f"{self.folder}: item {id!r} is there twice; ids must be unique")
        if split not in SPLITS:
            raise CrossmodalError(f"{self.folder}: item {id!r}: split {split!r} is not of {SPLITS}")
        labels = labels or ((category,) if category else ())
        for label in labels:
            if ";" in label:
                raise CrossmodalError(f"{self.folder}: item {id!r}: ';' in the label {label!r}")
        member = self._store(f"images/{id}{suffix}", image)
        self.items[id] = Item(id, category, labels, member)
        self.splits[id] = split

    def caption(
        self, id: str, item: str, text: str = "", audio: bytes | None = None, suffix: str = ""
    ) -> None:
        """Add a caption of an item: text, an encoded audio file, or both.

        Raises:
            CrossmodalError: If the id was given before, or there is no such item.
        """
        if id in self.captions:
            raise CrossmodalError(f"{self.folder}: caption {id!r} is there twice")
        if item not in self.items:
            raise CrossmodalError(f"{self.folder}: caption {id!r} is of unknown item {item!r}")
        member = self._store(f"speech/{id}{suffix}", audio)
        self.captions[id] = Caption(id, item, text, member)

    def published(self, name: str, matrix: np.ndarray) -> None:
        """Add a feature matrix that the dataset's authors published, one row per item in order."""
        stream = io.BytesIO()
        np.save(stream, matrix, allow_pickle=False)
        self._store(f"published/{name}.npy", stream.getvalue())

    def _store(self, member: str, content: bytes | None) -> str:
        if content is None:
            return ""
        # a fixed date keeps the archive's bytes the same from run to run
        self._media.writestr(zipfile.ZipInfo(member), content)
        return member

    def _write_tables(self) -> None:
        items = ([i.id, i.category, ";".join(i.labels), i.image] for i in self.items.values())
        write_csv(self.folder / "items.csv", ITEM_COLUMNS, items)
        captions = ([c.id, c.item, c.text, c.audio] for c in self.captions.values())
        write_csv(self.folder / "captions.csv", CAPTION_COLUMNS, captions)
        write_csv(self.folder / "splits.csv", SPLIT_COLUMNS, self.splits.items())

    def check(self, counts: dict[str, int]) -> None:
        """Compare the splits with what the dataset declares.

        Raises:
            CrossmodalError: If a split has another number of items.
        """
        found = Counter(self.splits.values())
        for split in SPLITS:
            if found[split] != counts.get(split, 0):
                raise CrossmodalError(
                    f"{self.folder}: {found[split]} items in split {split!r}, but the dataset "
                    f"declares {counts.get(split, 0)}; the raw files are not the published ones"
                )


class Prepared:
    """Reads a prepared dataset; each file is opened when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    @cached_property
    def items(self) -> list[Item]:
        """All items, in the dataset's order."""
        rows = read_csv(self.folder / "items.csv", ITEM_COLUMNS)
        return [
            Item(r["id"], r["category"], tuple(filter(None, r["labels"].split(";"))), r["image"])
            for r in rows
        ]

    @cached_property
    def captions(self) -> list[Caption]:
        """All captions, in the dataset's order."""
        rows = read_csv(self.folder / "captions.csv", CAPTION_COLUMNS)
        return [Caption(r["id"], r["item"], r["text"], r["audio"]) for r in rows]

    @cached_property
    def splits(self) -> dict[str, str]:
        """Split of each item id."""
        rows = read_csv(self.folder / "splits.csv", SPLIT_COLUMNS)
        return {r["item"]: r["split"] for r in rows}

    def split(self, *names: str) -> list[Item]:
        """Items of the named splits, in the dataset's order."""
        return [item for item in self.items if self.splits[item.id] in names]

    @cached_property
    def _media(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.folder / "media.zip")
        except (OSError, zipfile.BadZipFile) as error:
            raise CrossmodalError(f"{self.folder / 'media.zip'}: {error}; prepare again") from error

    def read(self, member: str) -> bytes:
        """Content of a member of media.zip: an image, a spoken caption.

        Raises:
            CrossmodalError: If there is no such member, or it is damaged.
        """
        if not member:
            raise CrossmodalError(
                f"{self.folder}: an item has no image, or a caption no audio; the dataset does not "
                "have what this feature describes"
            )
        try:
            return self._media.read(member)
        except (KeyError, zipfile.BadZipFile) as error:
            raise CrossmodalError(f"{self.folder / 'media.zip'}: {member!r}: {error}") from error

    def published(self, name: str) -> np.ndarray:
        """A feature matrix that the dataset's authors published, one row per item.

        Raises:
            CrossmodalError: If the dataset has none of that name.
        """
        have = [m[10:-4] for m in self._media.namelist() if m.startswith("published/")]
        if name not in have:
            raise CrossmodalError(
                f"{self.folder}: no published feature {name!r}; it has: {', '.join(have) or 'none'}"
            )
        return np.load(io.BytesIO(self.read(f"published/{name}.npy")), allow_pickle=False)
