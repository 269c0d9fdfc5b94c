"""Claims of the papers, as comparisons of published rows and of our experiments."""

import functools
from importlib.resources import files
from typing import Annotated

import yaml
from pydantic import Field, TypeAdapter

from crossmodal.config.published_numbers import STARTS, Place, Published, published_numbers
from crossmodal.errors import CrossmodalError
from crossmodal.plugin import Strict


class Reported(Strict):
    """Two published rows of one table, on one dataset; a method may have [variant] behind it."""

    table: str
    dataset: str
    better: str
    worse: str


class ReportedRow(Strict):
    """A published row of a table, on one dataset; a method may have [variant] behind it."""

    table: str
    dataset: str
    row: str


class Claim(Strict):
    """A claim of a paper.

    Args:
        claim: The claim.
        paper: The paper.
        place: Table, figure or section of the paper.
    """

    claim: str
    paper: str
    place: str


class Comparison(Claim):
    """A claim that one row is better than another one.

    Args:
        metric: What is compared; of times, the lower is better.
        direction: 'image-to-text' ...
        reported: Published rows; none where the paper prints no number.
        measured: Experiments that test it, each the better and the worse.
    """

    metric: str
    direction: str
    reported: list[Reported]
    measured: list[Annotated[list[str], Field(min_length=2, max_length=2)]]

    def published(self) -> list[tuple[str, float]]:
        """Return datasets and published differences, better minus worse.

        Raises:
            CrossmodalError: If a row or a number was not published.
        """
        return [
            (rows.dataset, self._published(rows, rows.better) - self._published(rows, rows.worse))
            for rows in self.reported
        ]

    def _published(self, rows: Reported, name: str) -> float:
        row = ReportedRow(table=rows.table, dataset=rows.dataset, row=name)
        return _number(self, (self.direction, self.metric), row)


class Starts(Claim):
    """A claim that training with a setting starts, or that it does not.

    Args:
        starts: Which of both.
        reported: Published numbers of runs of five that start; none where the paper prints none.
        measured: Experiments that test it; the runs of each list are counted together.
    """

    starts: bool
    reported: list[ReportedRow]
    measured: list[Annotated[list[str], Field(min_length=1)]]

    def published(self) -> list[tuple[str, float]]:
        """Return datasets and published numbers of runs of five that start.

        Raises:
            CrossmodalError: If a row was not published.
        """
        return [(row.dataset, _number(self, ("both", STARTS), row)) for row in self.reported]


@functools.cache  # the workflow asks for them in each of several rules
def read_claims() -> tuple[Comparison | Starts, ...]:
    """Return the claims of claims.yaml, in its order."""
    text = (files("crossmodal") / "published" / "claims.yaml").read_text(encoding="utf-8")
    entries = yaml.load(text, yaml.CSafeLoader)
    return tuple(TypeAdapter(list[Comparison | Starts]).validate_python(entries))


def _number(claim: Claim, place: Place, row: ReportedRow) -> float:
    from crossmodal.metrics.retrieval import RECALL_DEPTHS  # SciPy, which a start need not wait for

    method, _, variant = row.row.removesuffix("]").partition("[")
    source = Published(
        paper=claim.paper, table=row.table, dataset=row.dataset, method=method, variant=variant
    )
    numbers = {place: n.value for place, n in published_numbers(source).items()}
    directions = {d for d, _ in numbers if "-to-" in d}
    recalls = [(d, f"R@{k}") for d in directions for k in RECALL_DEPTHS]
    if place[1] == "rsum" and all(place in numbers for place in recalls):
        return sum(numbers[place] for place in recalls)
    if place not in numbers:
        raise CrossmodalError(
            f"claims.yaml: {claim.claim}: {row.table} has no {place[1]} of {row.row}"
        )
    return numbers[place]
