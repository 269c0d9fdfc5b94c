"""Claims of the papers, as comparisons of published rows and of our experiments."""

import functools
from importlib.resources import files
from typing import Annotated

import yaml
from pydantic import Field

from crossmodal.config.published_numbers import Published, published_numbers
from crossmodal.errors import CrossmodalError
from crossmodal.metrics.retrieval import RECALL_DEPTHS
from crossmodal.plugin import Strict


class Reported(Strict):
    """Two published rows of one table, on one dataset; a method may have [variant] behind it."""

    table: str
    dataset: str
    better: str
    worse: str


class Claim(Strict):
    """A claim of a paper: one row is better than another one.

    Args:
        measured: Experiments that test it, each the better and the worse.
    """

    claim: str
    paper: str
    place: str
    metric: str
    direction: str
    reported: list[Reported]
    measured: list[Annotated[list[str], Field(min_length=2, max_length=2)]]


@functools.cache  # the workflow asks for them in each of several rules
def read_claims() -> tuple[Claim, ...]:
    """Return the claims of claims.yaml, in its order."""
    text = (files("crossmodal") / "published" / "claims.yaml").read_text(encoding="utf-8")
    return tuple(Claim.model_validate(entry) for entry in yaml.load(text, yaml.CSafeLoader))


def reported_difference(claim: Claim, rows: Reported) -> float:
    """Return the published difference of the claim's metric, better minus worse.

    Raises:
        CrossmodalError: If a row or a number was not published.
    """
    better, worse = (_published(claim, rows, name) for name in (rows.better, rows.worse))
    return better - worse


def _published(claim: Claim, rows: Reported, name: str) -> float:
    method, _, variant = name.removesuffix("]").partition("[")
    source = Published(
        paper=claim.paper, table=rows.table, dataset=rows.dataset, method=method, variant=variant
    )
    numbers = {place: n.value for place, n in published_numbers(source).items()}
    directions = {d for d, _ in numbers if "-to-" in d}
    recalls = [(d, f"R@{k}") for d in directions for k in RECALL_DEPTHS]
    if claim.metric == "rsum" and all(place in numbers for place in recalls):
        return sum(numbers[place] for place in recalls)
    if (claim.direction, claim.metric) not in numbers:
        raise CrossmodalError(
            f"claims.yaml: {claim.claim}: {rows.table} has no {claim.metric} of {name}"
        )
    return numbers[claim.direction, claim.metric]
