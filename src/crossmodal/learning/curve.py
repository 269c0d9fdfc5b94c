"""Learning curve of a fit, `curve.csv`: a row for each epoch, iteration or chunk of triplets.

The first column, or `step`, counts. Some columns are of a part of what another one measures:
`validation` and `seconds` of a direction, `margin` of the triplets between two categories.
"""

from collections.abc import Mapping
from itertools import combinations
from math import isqrt
from pathlib import Path
from typing import Self, TypeVar

from pydantic import RootModel, StrictInt, ValidationError, model_validator

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import read_csv, write_csv

Value = TypeVar("Value")

MARGIN, BETWEEN = "margin ", " | "


class LearningCurve(RootModel[list[dict[str, StrictInt | float]]]):
    """Rows of a learning curve, with the same columns each."""

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        for number, row in enumerate(self.root, 1):
            if row.keys() != self.root[0].keys():
                raise ValueError(f"row {number} has not the columns of the first row")
        return self

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read `curve.csv`.

        Raises:
            CrossmodalError: If the file is missing or corrupt.
        """
        try:
            return cls.model_validate(read_csv(path, []))
        except ValidationError as error:
            raise CrossmodalError(f"{path}: is no learning curve ({error}); train again") from error

    def write(self, path: Path) -> None:
        """Write `curve.csv`."""
        columns = list(self.root[0]) if self.root else ["epoch"]
        write_csv(path, columns, [[row[name] for name in columns] for row in self.root])

    def with_gap(self) -> Self:
        """Return the curve with the column `gap`, `positives` less `negatives`, if these are there.

        Both are mean similarities, whose difference is 0 on the plateau of a ranking loss.
        """
        if not self.root or "positives" not in self.root[0]:
            return self
        gaps = [{"gap": row["positives"] - row["negatives"]} for row in self.root]
        return type(self)([row | gap for row, gap in zip(self.root, gaps, strict=True)])

    def margins(self) -> dict[tuple[str, str], list[float]]:
        """Return the column of each pair of categories; see `by_categories`."""
        names = [name for name in (self.root or [{}])[0] if name.startswith(MARGIN)]
        first, *_ = [name.removeprefix(MARGIN).split(BETWEEN) for name in names] or [[]]
        for end in range(1, len(first)):  # the name of a category may have BETWEEN in it
            category = BETWEEN.join(first[:end])
            others = [n.removeprefix(f"{MARGIN}{category}{BETWEEN}") for n in names]
            categories = [category, *others[: isqrt(2 * len(names))]]
            pairs = list(combinations(categories, 2))
            if [f"{MARGIN}{a}{BETWEEN}{b}" for a, b in pairs] == names:
                columns = [[row[name] for row in self.root] for name in names]
                return dict(zip(pairs, columns, strict=True))
        return {}


def by_direction(column: str, values: Mapping[tuple[str, str], float]) -> dict[str, float]:
    """Return columns `<column> <query>-to-<document>`."""
    return {f"{column} {query}-to-{document}": v for (query, document), v in values.items()}


def by_categories(values: Mapping[tuple[str, str], Value]) -> dict[str, Value]:
    """Return columns `margin <a> | <b>` of all pairs of categories, in order."""
    return {f"{MARGIN}{a}{BETWEEN}{b}": value for (a, b), value in values.items()}
