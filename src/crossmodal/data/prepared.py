"""Prepared datasets: the interface between datasets and all later steps.

A folder with four files. `items.csv`: id, category (the single-label protocol), labels (the
multi-label protocol, separated by `;`), image (member of media.zip or empty). `captions.csv`: id,
item, text, audio (member of media.zip or empty). `splits.csv`: item, split. `media.zip`: images,
spoken captions and feature matrices that the dataset's authors published, not compressed again.
Where media are in shards, members are of these, see `crossmodal.data.media`. Where there is
something to remark on the data, `remarks.json` lists it.
"""

import io
import zipfile
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import DAMAGE, read_csv, read_json

SPLITS = ("train", "validation", "test")
ITEM_COLUMNS = ["id", "category", "labels", "image"]
CAPTION_COLUMNS = ["id", "item", "text", "audio"]
SPLIT_COLUMNS = ["item", "split"]
FILES = ("items.csv", "captions.csv", "splits.csv", "media.zip")
REMARKS = "remarks.json"  # no step depends on it: a remark alone makes nothing run again
PREPARED = Path("data/prepared")


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


Described = Item | Caption  # what a row of a feature is of


def is_prepared(name: str) -> bool:
    """Return whether all files of a prepared dataset exist."""
    return all((PREPARED / name / file).exists() for file in FILES)


def item_of(row: Item | Caption) -> str:
    """Return the id of the item that an item, or a caption, belongs to."""
    return row.item if isinstance(row, Caption) else row.id


class Items(ABC):
    """Source of features: items, their captions, and the files of both.

    Attributes:
        name: Where the items come from, for messages.
    """

    name: str

    @property
    @abstractmethod
    def items(self) -> list[Item]:
        """Return all items, in order."""

    @property
    @abstractmethod
    def captions(self) -> list[Caption]:
        """Return all captions, in order."""

    @cached_property
    def captions_of(self) -> dict[str, list[Caption]]:
        """Return captions of each item id, in order; empty for an item without captions."""
        captions: dict[str, list[Caption]] = defaultdict(list)
        for caption in self.captions:
            captions[caption.item].append(caption)
        return captions

    @abstractmethod
    def read(self, member: str) -> bytes:
        """Return the encoded image or speech that an item or a caption names.

        Raises:
            CrossmodalError: If there is no such file, or it cannot be read.
        """

    @abstractmethod
    def where(self, member: str) -> str:
        """Return the place of such a file, for messages."""


class Prepared(Items):
    """Reads a prepared dataset; each file is opened when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.name = str(folder)

    @cached_property
    def items(self) -> list[Item]:
        """Return all items, in the dataset's order."""
        rows = read_csv(self.folder / "items.csv", ITEM_COLUMNS)
        self._refuse_repeats("items.csv", [r["id"] for r in rows])
        return [
            Item(r["id"], r["category"], tuple(filter(None, r["labels"].split(";"))), r["image"])
            for r in rows
        ]

    @cached_property
    def captions(self) -> list[Caption]:
        """Return all captions, in the dataset's order."""
        rows = read_csv(self.folder / "captions.csv", CAPTION_COLUMNS)
        self._refuse_repeats("captions.csv", [r["id"] for r in rows])
        return [Caption(r["id"], r["item"], r["text"], r["audio"]) for r in rows]

    @cached_property
    def splits(self) -> dict[str, str]:
        """Return the split of each item id."""
        rows = read_csv(self.folder / "splits.csv", SPLIT_COLUMNS)
        splits = {r["item"]: r["split"] for r in rows}
        self._refuse_repeats("splits.csv", [r["item"] for r in rows])
        for item, split in splits.items():
            if split not in SPLITS:
                raise self._damage(
                    "splits.csv", f"split {split!r} of {item!r} is not one of {SPLITS}"
                )
        return splits

    @cached_property
    def remarks(self) -> list[str]:
        """Return remarks on the data, see `Writer.remark`; empty where there are none."""
        path = self.folder / REMARKS
        remarks = read_json(path) if path.exists() else []
        if not isinstance(remarks, list) or not all(isinstance(text, str) for text in remarks):
            raise self._damage(REMARKS, "is no list of texts")
        return remarks

    def split(self, *names: str) -> list[Item]:
        """Return items of the named splits, in the dataset's order."""
        for item in self.items:
            if item.id not in self.splits:
                raise self._damage("splits.csv", f"item {item.id!r} is in no split")
        return [item for item in self.items if self.splits[item.id] in names]

    def _refuse_repeats(self, name: str, ids: list[str]) -> None:
        repeated = [id for id, count in Counter(ids).items() if count > 1]
        if repeated:
            raise self._damage(name, f"{repeated[0]!r} occurs twice")

    def _damage(self, name: str, reason: str) -> CrossmodalError:
        return CrossmodalError(f"{self.folder / name}: {reason}; prepare again")

    def where(self, member: str) -> str:
        """Return the path of media.zip, and the member."""
        return f"{self.folder / 'media.zip'}: {member!r}"

    @cached_property
    def _media(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.folder / "media.zip")
        except DAMAGE as error:
            raise self._damage("media.zip", str(error)) from error

    def read(self, member: str) -> bytes:
        """Return the content of a member of media.zip: an image, a spoken caption.

        Raises:
            CrossmodalError: If there is no such member, or it is corrupt.
        """
        if not member:
            raise CrossmodalError(
                f"{self.folder}: an item has no image, or a caption no audio; the dataset does not "
                "have what this feature describes"
            )
        try:
            return self._media.read(member)
        except DAMAGE as error:
            raise self._damage("media.zip", f"{member!r}: {error}") from error

    def published(self, name: str) -> np.ndarray:
        """Return a feature matrix that the dataset's authors published, one row per item.

        Raises:
            CrossmodalError: If the dataset has none of that name.
        """
        have = [m[10:-4] for m in self._media.namelist() if m.startswith("published/")]
        if name not in have:
            raise CrossmodalError(
                f"{self.folder}: no published feature {name!r}; it has: {', '.join(have) or 'none'}"
            )
        content = self.read(f"published/{name}.npy")
        try:
            return np.load(io.BytesIO(content), allow_pickle=False)
        except DAMAGE as error:
            raise self._damage("media.zip", f"matrix {name!r}: {error}") from error
