"""Your own data: a CSV of images, texts, recordings and labels, and the files it names.

A row is a caption, and rows with the same id are captions of one item. Columns, of which `id` and
two of `image`, `text` and `speech` are needed:

- `id`: name of the item;
- `text`: what the caption says;
- `speech`: path of the spoken caption, from the CSV's folder;
- `image`: path of the item's image, from the CSV's folder;
- `labels`: separated by `;`, the first is the item's category;
- `split`: train, validation or test; without the column, splits are drawn.

The last three belong to the item: they may stay empty in all of its rows but one. An item has
something of each of `image`, `text` and `speech` that is a column; a row that has neither text nor
speech is no caption. Items that share a file, or have nearly the same picture, belong in one split.
"""

import warnings
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from crossmodal.data.dataset import Dataset
from crossmodal.data.prepared import SPLITS
from crossmodal.data.writer import Writer
from crossmodal.datasets._duplicates import Fingerprints
from crossmodal.datasets._own_table import (
    Items,
    labels_of,
    media_paths,
    named_rows,
    read_table,
    stating,
)
from crossmodal.errors import CrossmodalError
from crossmodal.io.progress import track
from crossmodal.io.spreadsheets import Findings, Row
from crossmodal.options import Strict
from crossmodal.resources.sizes import Extent

Part = Annotated[float, Field(gt=0, lt=1)]
NAMED = 10  # items in a warning


class Folder(Dataset):
    """A user's own data; see the module for the columns."""

    class Options(Strict):
        csv: str = Field(
            pattern=r"\.csv$", description="Path of the CSV, relative to the project's folder."
        )
        validation: Part = Field(
            description="Share of the items drawn for validation, without a column `split`."
        )
        test: Part = Field(
            description="Share of the items drawn for testing, without a column `split`."
        )
        seed: int = Field(ge=0, description="Seed of the draw.")
        duplicates: Literal["refuse", "warn"] = Field(
            description="Items of different splits that share a file or have nearly the same "
            "picture: 'refuse' stops with their list, 'warn' only names them. Drawn splits keep "
            "them together."
        )

        @model_validator(mode="after")
        def _leaves_training_items(self) -> Self:
            if self.validation + self.test >= 1:
                raise ValueError("validation and test leave nothing to train on")
            return self

    licence = citation = "the user's own"
    shares_features = shares_models = False

    @property
    def csv(self) -> Path:
        """The CSV."""
        return Path(self.options.csv)

    def counts(self) -> None:
        """Any number of items will do."""

    def departure(self) -> str:
        """How many items have no label, and how many rows no text; empty: none."""
        try:
            rows = named_rows(self.csv)
        except CrossmodalError:  # which `prepare` tells
            return ""
        ids = {row["id"] for row in rows}
        unlabelled = ids - {row["id"] for row in rows if row["labels"]}
        silent = [row for row in rows if "text" in row.values and not row["text"]]
        spoken = sum(bool(row["speech"]) for row in silent)
        said = {
            f"of {len(ids):,} items without labels, which methods that learn from labels leave out "
            "or take as of no category": len(unlabelled) if unlabelled != ids else 0,
            "rows without text or speech, which are no captions": len(silent) - spoken,
            "spoken captions without text, which have no words": spoken,
        }
        parts = [f"{count:,} {what}" for what, count in said.items() if count]
        return f"has {'; '.join(parts)}" if parts else ""

    def extent(self) -> Extent:
        """Items and captions of the CSV, means of the files it names; any size without a CSV."""
        try:
            rows = named_rows(self.csv)
            named = [found for row in rows for found in media_paths(row)]
        except CrossmodalError:
            rows, named = [], []
        if not rows:
            return super().extent()
        ids, options = {row["id"] for row in rows}, self.options
        parts = {split: int(getattr(options, split) * len(ids)) for split in ("validation", "test")}
        sizes: dict[str, list[int]] = {"image": [], "speech": []}
        for column, path in named:
            sizes[column].append(path.stat().st_size if path.is_file() else 0)
        return Extent(
            {"train": len(ids) - sum(parts.values()), **parts},
            captions=len(rows) / len(ids),
            labels=len({label for row in rows for label in row["labels"].split(";") if label}),
            image=sum(sizes["image"]) / len(ids),
            clip=sum(sizes["speech"]) / 32_000 / max(1, len(sizes["speech"])),
            clips=len(sizes["speech"]) / len(ids),
        )

    def files(self) -> list[Path]:
        """The CSV and those of its files that exist; `prepare` reports the missing ones."""
        try:
            named = [path for row in named_rows(self.csv) for _, path in media_paths(row)]
        except CrossmodalError:
            named = []
        return [path for path in dict.fromkeys([self.csv, *named]) if path.is_file()]

    def prepare(self, raw: Path, out: Writer) -> None:
        """Read the CSV and the files it names; nothing is read from `raw`."""
        items, prints = read_table(self.csv)
        splits = self._splits(items, prints)
        for id, rows in track(items.items(), len(items), f"prepare {self.csv}"):
            labels = labels_of(rows)
            image, suffix = _media(stating(rows, "image"), "image")
            out.item(id, splits[id], labels[0] if labels else "", labels, image, suffix)
            for number, row in enumerate(rows):
                speech, suffix = _media(row, "speech")
                if row["text"] or speech:
                    out.caption(f"{id}#{number}", id, row["text"], speech, suffix)

    def _splits(self, items: Items, prints: Fingerprints) -> dict[str, str]:
        """Split of each item, as its column says or by a draw."""
        stated = {id: stating(rows, "split") for id, rows in items.items()}
        if any("split" in row.values for row in stated.values()):
            splits = {id: row["split"] for id, row in stated.items()}
            self._check_leaks(stated, splits, prints)
        else:
            splits = self._drawn([*items], prints.groups())
        for split in SPLITS:
            if split not in splits.values():
                raise CrossmodalError(f"{self.csv}: no item for split {split!r}; add some")
        return splits

    def _check_leaks(
        self, rows: dict[str, Row], splits: dict[str, str], prints: Fingerprints
    ) -> None:
        """Refuse, or warn of, equal items in different splits."""
        findings = Findings()
        for first, second in dict.fromkeys(prints.pairs()):
            with findings.collect():
                if splits[first] != splits[second]:
                    raise rows[second].error(
                        "split",
                        f"{second!r} ({splits[second]}) is equal or nearly equal to {first!r} "
                        f"({splits[first]}); put both into one split, or set `duplicates: warn`",
                    )
        try:
            findings.report()
        except CrossmodalError as error:
            if self.options.duplicates == "refuse":
                raise
            warnings.warn(str(error), stacklevel=2)

    def _drawn(self, ids: list[str], groups: dict[str, str]) -> dict[str, str]:
        """A draw of the shares that are wanted; equal items go together.

        Args:
            ids: All items.
            groups: The group of each item that equals another one.
        """
        order = np.random.default_rng(self.options.seed).permutation(ids).tolist()
        members: dict[str, list[str]] = {}
        for id in order:
            members.setdefault(groups.get(id, id), []).append(id)
        splits = dict.fromkeys(ids, "train")
        for split in ("validation", "test"):
            room = max(1, int(getattr(self.options, split) * len(ids)))
            for group in [*members]:
                if len(members[group]) <= room:
                    room -= len(members[group])
                    splits |= dict.fromkeys(members.pop(group), split)
        if groups:
            named = ", ".join([*groups][:NAMED]) + (", ..." if len(groups) > NAMED else "")
            warnings.warn(
                f"{self.csv}: {len(groups)} items are equal or nearly equal to others and stay in "
                f"their split: {named}",
                stacklevel=2,
            )
        return splits


def _media(row: Row, column: str) -> tuple[bytes | None, str]:
    """Content and suffix of the file that a column names, if it names one."""
    if not row[column]:
        return None, ""
    path = row.path(column)
    return path.read_bytes(), path.suffix
