"""Your own rows: a matrix in a .npy, .npz, .mat, .h5, .parquet or .safetensors file.

A row belongs to the item, or caption, that its id names; or, where that is said, to the one at its
place in the dataset. Values become float32.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NoReturn, Self

import numpy as np
from pydantic import Field, model_validator

from crossmodal.data.feature import Feature
from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import SPLITS, Caption, Item, Items, Prepared, item_of
from crossmodal.errors import CrossmodalError
from crossmodal.features._array_rows import Matrices, Part
from crossmodal.io.files import JsonObject
from crossmodal.plugin import Strict

Split = Annotated[str, Field(pattern=f"^({'|'.join(SPLITS)})$")]
OfSplits = Annotated[dict[Split, str], Field(min_length=1)]
ALL = ""  # splits


class Array(Feature):
    """Vectors float32 (n, width) of a user's own files."""

    class Options(Strict):
        """Files, and how their rows find items."""

        file: str | OfSplits = Field(
            description="Path of the matrix, relative to the project's folder or absolute; or one "
            "for each split."
        )
        ids: str | OfSplits = Field(
            description="Ids of the rows: a .csv with a column `id`, a .txt with one in each line, "
            "or a .npy; or the name of an array, or column, in the matrix's own file; or `order`: "
            "rows are in the dataset's order. Where there is a file for each split, one for each."
        )
        modality: Literal["image", "text", "speech"] = Field(description="What rows describe.")
        unit: Literal["item", "caption"] = Field(
            "item",
            description="What a row is: an item or a caption. The id of a caption is its own, or "
            "that of its item, once for each of the item's captions, in their order.",
        )
        name: str = Field("", description="Name of the matrix, in a file that has several.")
        subset: bool = Field(
            False,
            description="Whether rows of ids that the dataset lacks are left out; otherwise they "
            "are refused.",
        )

        @model_validator(mode="after")
        def _name_the_same_splits(self) -> Self:
            if isinstance(self.ids, dict) and (
                isinstance(self.file, str) or {*self.ids} != {*self.file}
            ):
                raise ValueError("`ids` names other splits than `file`")
            return self

        def parts(self) -> dict[str, Part]:
            """Return where rows are, by split."""
            files = _by_split(self.file)
            ids = dict.fromkeys(files, self.ids) if isinstance(self.ids, str) else {**self.ids}
            return {s: Part(Path(f), self.name, ids[s]) for s, f in files.items()}

    options: Options
    reads = ("items.csv", "captions.csv", "splits.csv")
    modality: Literal["image", "text", "speech"] = "image"  # of an instance: as its options say
    published = True
    chunk = 4096

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.modality, self.unit = self.options.modality, self.options.unit
        files = (file for part in self.options.parts().values() for file in part.files())
        self.files = tuple(dict.fromkeys(files))

    def fit(self, dataset: Prepared, sources: dict[str, FeatureFile]) -> None:
        """Find the row of each item or caption.

        Raises:
            CrossmodalError: If a file is corrupt, or does not have one row for each.
        """
        parts = self.options.parts()
        if ALL not in parts and (lacking := {*dataset.splits.values()} - {*parts}):
            raise CrossmodalError(
                f"{next(iter(parts.values())).file}: there is no file for the items of split "
                f"{min(lacking)!r} of {dataset.name}; name one in `file`"
            )
        self.matrices = Matrices([*parts.values()])
        self.numbers: dict[str, int] = {}
        first = 0
        for (split, part), count in zip(parts.items(), self.matrices.counts, strict=True):
            chosen = (split,) if split else SPLITS
            wanted = [r for r in self.rows(dataset) if dataset.splits[item_of(r)] in chosen]
            whose = f"the {self.unit}s of {dataset.name}" + (f", split {split!r}" if split else "")
            places = part.places(count, wanted, whose, self.options.subset)
            ids = (row.id for row in wanted)
            self.numbers |= zip(ids, (first + places).tolist(), strict=True)
            first += count

    def extract(
        self, dataset: Items, rows: Sequence[Item | Caption], sources: dict[str, FeatureFile]
    ) -> np.ndarray:
        """Read the rows."""
        ids = [row.id for row in rows]
        return self.matrices.take(np.array([self.numbers[id] for id in ids]), ids)

    def restore(self, learnt: JsonObject) -> NoReturn:
        """Refuse other items, of which the files have no rows.

        Raises:
            CrossmodalError: Always.
        """
        raise CrossmodalError(
            f"{', '.join(self.files)}: has rows of its dataset's items alone, so that none is "
            "computed for others; search by an item or by a row (`--item`, `--row`), or give rows "
            "to Model.embed_features"
        )


def _by_split(file: str | dict[str, str]) -> dict[str, str]:
    return {ALL: file} if isinstance(file, str) else file
