"""Your own data: a CSV of images, texts, recordings and labels, and the files it names.

A row is a caption, and rows with the same id are captions of one item. Columns, of which `id` is
needed, and two of `image`, `text` and `speech`, unless the feature `array` has rows of them:

- `id`: name of the item;
- `text`: what the caption says;
- `speech`: path of the spoken caption;
- `image`: path of the item's image;
- `labels`: separated by `;`, the first is the item's category;
- `split`: train, validation or test; what no item states is drawn, from those for training;
- `language`: of the text and of what is spoken, by BCP 47.

What belongs to the item, `image`, `labels` and `split`, may stay empty in all of its rows but one.
An item has something of each of `image`, `text` and `speech` that is a column; a row that has
neither text nor speech is no caption, and identical captions of an item are one. Items that share a
file, or have nearly the same picture, belong in one split.
"""

import os
import warnings
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from crossmodal.data.dataset import Dataset
from crossmodal.data.prepared import SPLITS
from crossmodal.data.writer import Writer
from crossmodal.datasets._formats.item_records import Keep, Source
from crossmodal.datasets._formats.reading import read_source
from crossmodal.datasets._own_items import captions_of, is_told, labels_of, stating
from crossmodal.datasets._own_languages import SEVERAL, rows_in
from crossmodal.datasets._own_media import Media
from crossmodal.datasets._own_splits import drawn_splits, parted, stated_splits, with_test_rows
from crossmodal.datasets._own_table import Table, named_rows, read_table
from crossmodal.errors import CrossmodalError
from crossmodal.io.extents import Spool
from crossmodal.io.folders import list_files
from crossmodal.io.progress import track
from crossmodal.io.spreadsheets import Row
from crossmodal.plugin import Language, Strict

CSV = r"\.[cC][sS][vV]$"
Part = Annotated[float, Field(gt=0, lt=1)]
PARTED = "that are equal or nearly equal to items of another split"


class Folder(Dataset):
    """A user's own data; see the module for the columns."""

    class Options(Strict):
        csv: str | None = Field(
            None, pattern=CSV, description="Path of the CSV, relative to the project's folder."
        )
        source: str | None = Field(
            None,
            description="Instead of a CSV, path of a file or folder in another format that "
            "`crossmodal init` reads, such as WebDataset or COCO's captions.",
        )
        validation: Part = Field(
            description="Share of the items, or of those for training, drawn for validation if the "
            "column `split` states none."
        )
        test: Part = Field(
            description="Share of the items, or of those for training, drawn for testing if the "
            "column `split` states none."
        )
        seed: int = Field(ge=0, description="Seed of the draw.")
        duplicates: Literal["refuse", "warn"] = Field(
            description="Items that share a file or have nearly the same picture: 'refuse' stops "
            "where a column `split` parts them, and draws them into one split; 'warn' names those "
            "that are parted, and draws only those that share a file into one split."
        )
        root: str | None = Field(
            None,
            description="Folder in which relative paths of the CSV are looked up, relative to the "
            "project's folder or absolute; null: the CSV's own folder, or as the format says.",
        )
        skip_bad: bool = Field(
            False,
            description="Whether files and records that cannot be read are left out, with the "
            "items that need them, and counted in tables; otherwise they are refused.",
        )

        language: Language | Annotated[list[Language], Field(min_length=1)] = Field(
            "en",
            description="Language of the captions by BCP 47, such as `en`, `pt-BR` or `zh`, or "
            "several; `und`: none that is known. Rows whose column `language` has another one are "
            "left out. Stop words are left out of English captions alone.",
        )
        test_csv: str | None = Field(
            None,
            pattern=CSV,
            description="Path of another CSV, whose items are for testing; none of `csv` is then.",
        )
        licence: str = Field("the user's own", description="Terms of use.")
        citation: str = Field("the user's own", description="What to cite.")
        redistribution: bool = Field(
            False,
            description="Whether the licence lets a team share texts, media and what is made of "
            "them.",
        )

        @model_validator(mode="after")
        def _suit_each_other(self) -> Self:
            if self.validation + self.test >= 1:
                raise ValueError("validation and test leave nothing to train on")
            if (self.csv is None) == (self.source is None):
                raise ValueError("give either csv or source")
            if self.test_csv and not self.csv:
                raise ValueError("test_csv: goes with csv alone")
            return self

    options: Options
    licence = citation = "the user's own"
    shares_features = shares_models = False

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        o = self.options
        self.languages = [o.language] if isinstance(o.language, str) else o.language
        self.language = self.languages[0] if len(self.languages) == 1 else SEVERAL
        self.licence, self.citation, self.redistribution = o.licence, o.citation, o.redistribution
        self.shares_features = self.shares_models = o.redistribution

    @property
    def table(self) -> Path:
        """Return the CSV, or what is in another format."""
        return Path(self.options.csv or self.options.source or "")

    @property
    def tables(self) -> list[Path]:
        """Return `table`, and the CSV of the items for testing."""
        return [self.table, *([Path(self.options.test_csv)] if self.options.test_csv else [])]

    def read(self, keep: Keep | None = None) -> Source:
        """Return the items, as their CSV or another format says them.

        Args:
            keep: Stores pictures and sounds that can only be read in order; without, they are not
                read.
        """
        root = None if self.options.root is None else Path(self.options.root)
        if self.options.csv:
            place = root or self.table.parent
            return Source(self.table, "CSV", place, self._rows(place))
        source = read_source(self.table, root, keep)
        if source is None:
            raise CrossmodalError(f"{self.table}: holds no format that is read")
        return source

    def _rows(self, root: Path) -> list[Row]:
        """Return the rows of both CSVs that are in the dataset's languages."""
        rows = rows_in(self.table, named_rows(self.table), self.languages)
        if not (tested := self.options.test_csv):
            return rows
        others = rows_in(Path(tested), named_rows(Path(tested)), self.languages)
        return with_test_rows(rows, others, os.path.relpath(Path(tested).parent, root))

    def counts(self) -> None:
        """Return None: any number of items is valid."""

    def files(self) -> list[Path]:
        """Return the CSV and those of its files that exist; `prepare` reports the missing ones.

        Of a folder in another format, all files.
        """
        if self.table.is_dir():
            return [self.table / file for file in list_files(self.table).files]
        try:
            source = self.read()
            media = Media(source.root, source.members)
            files = [path for row in source.rows for _, path in media.files(row)]
            named = [path for path in files if path not in media.members]
        except CrossmodalError:
            named = []
        return [path for path in dict.fromkeys([*self.tables, *named]) if os.path.isfile(path)]

    def own_paths(self) -> list[Path]:
        """Return the folder of the CSV or source, and the one of its files if it is another."""
        root = self.options.root
        places = [table if table.is_dir() else table.parent for table in self.tables]
        folders = [p if p.name else table for p, table in zip(places, self.tables, strict=True)]
        return [*folders, *([Path(root)] if root else [])]

    def prepare(self, raw: Path, out: Writer) -> None:
        """Read the table and the files it names; nothing is read from `raw`."""
        with Spool(out.folder) as spool:
            self._write(self.read(spool.keep), out)

    def _write(self, source: Source, out: Writer) -> None:
        media = Media(source.root, source.members)
        table = read_table(source, media, self.options.skip_bad)
        splits = self._splits(table)
        for id, rows in track(table.items.items(), len(table.items), f"prepare {self.table}"):
            labels = labels_of(rows)
            image, suffix = media.read(stating(rows, "image"), "image")
            out.item(id, splits[id], labels[0] if labels else "", labels, image, suffix)
            for number, row in captions_of(rows).items():
                speech, suffix = media.read(row, "speech")
                tags = not is_told(rows)  # a caption that only arrays describe has no text
                out.caption(f"{id}#{number}", id, row["text"], speech, suffix, tags=tags)
        for remark in table.remarks:
            out.remark(remark)

    def _splits(self, table: Table) -> dict[str, str]:
        """Return the split of each item: stated, or drawn from those for training."""
        options, refuse = self.options, self.options.duplicates == "refuse"
        shares = {"validation": options.validation, "test": options.test}
        stated = stated_splits(self.table, table)
        missing = {split: share for split, share in shares.items() if split not in stated.values()}
        pairs, splits = [*dict.fromkeys(table.prints.pairs())], dict(stated)
        if missing:
            rest = [id for id in table.items if stated.get(id, "train") == "train"]
            alike = pairs if refuse else table.prints.equal()
            splits |= drawn_splits(self.table, rest, missing, options.seed, alike, near=refuse)
        if stated or not refuse:
            advice = "; put both into one split, or set `duplicates: warn`" if refuse else ""
            findings, count = parted(table, splits, pairs, advice)
            if refuse:
                findings.report()
            elif count:
                warnings.warn(str(findings), stacklevel=2)
                table.remarks.append(f"has {count:,} items {PARTED}")
        sizes = Counter(splits.values())
        print(f"{self.table}: " + ", ".join(f"{sizes[split]:,} {split} items" for split in SPLITS))
        return splits
