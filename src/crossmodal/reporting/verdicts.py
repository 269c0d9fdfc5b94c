"""Verdicts on claims, by the interval of a measured difference."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from crossmodal.reporting.estimates import Difference

HOLDS, FAILS, OPEN, NOT_RUN = "holds", "does not hold", "cannot be told", "not run"
LARGEST = 1_000_000  # number of items or seeds above which none is named


@dataclass(frozen=True)
class Verdict:
    """What our runs say of a claim on one dataset.

    Args:
        word: One of `HOLDS`, `FAILS`, `OPEN` and `NOT_RUN`.
        needed: Items or seeds that would tell, if the difference stays; empty otherwise.
    """

    word: str
    needed: str = ""


def verdict(difference: Difference | None, items: int) -> Verdict:
    """Return the verdict by the 95 % interval of better minus worse.

    Args:
        difference: As measured; None if a row was not run.
        items: Test items.
    """
    if difference is None:
        return Verdict(NOT_RUN)
    interval = difference.interval()
    if interval is None:
        return Verdict(OPEN, "one seed, no values per query")
    low, high = interval
    if low > 0 or high < 0:
        return Verdict(HOLDS if low > 0 else FAILS)
    return Verdict(OPEN, _needed(difference, items))


def _needed(difference: Difference, items: int) -> str:
    """Return how many items, or else seeds, would tell the same difference from 0."""
    of_items, of_seeds = (difference.items or 0) ** 2, (difference.seeds or 0) ** 2
    allowed = (difference.value / difference.quantile) ** 2  # variance of the difference
    sizes: Mapping[str, tuple[float, float, int]] = {
        "test items": (of_items, of_seeds, items),
        "seeds": (of_seeds, of_items, difference.count),
    }
    for unit, (own, other, size) in sizes.items():
        if own and allowed > other:
            number = math.ceil(size * own / (allowed - other))
            if number <= LARGEST:
                return f"about {number:,} {unit} would tell"
    return "more items and seeds would have to tell"
