"""Verdicts on claims, by the interval of a measured difference."""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from crossmodal.reporting.estimates import LEVEL, Difference

HOLDS, FAILS, OPEN, NOT_RUN = "holds", "does not hold", "cannot be told", "not run"
WORDS = (HOLDS, FAILS, OPEN, NOT_RUN)
LARGEST = 1_000_000  # number of items or seeds above which none is named


@dataclass(frozen=True)
class Verdict:
    """Verdict of our runs on a claim on one dataset.

    Args:
        word: One of `WORDS`.
        needed: Items or seeds that would tell, if the difference stays; empty otherwise.
    """

    word: str
    needed: str = ""


def verdict(difference: Difference, items: int) -> Verdict:
    """Return the verdict by the 95 % interval of better minus worse.

    Args:
        difference: As measured.
        items: Test items.
    """
    interval = difference.interval()
    if interval is None:
        return Verdict(OPEN, "at least 2 seeds, or values per query, would tell")
    if _excludes_zero(interval):
        return Verdict(HOLDS if difference.value > 0 else FAILS)
    return Verdict(OPEN, _needed(difference, items))


def verdict_of_starts(started: int, runs: int, claimed: bool) -> Verdict:
    """Return the verdict by the 95 % score interval of the share of runs that start.

    Args:
        started: Runs that start.
        runs: All runs.
        claimed: Whether the claim is that most start, or that most do not.
    """
    low, high = share_interval(started, runs)
    if low > 0.5 or high < 0.5:
        return Verdict(HOLDS if (low > 0.5) == claimed else FAILS)
    distance = started / runs - 0.5
    if not distance:
        return Verdict(OPEN, "no number of seeds would tell a half from a half")
    from scipy import stats  # a start of Snakemake, which reads the claims, need not wait for it

    # the score interval of a share excludes a half from here on
    number = math.floor((stats.norm.isf((1 - LEVEL) / 2) / (2 * distance)) ** 2) + 1
    return Verdict(OPEN, f"about {number:,} seeds would tell")


def share_interval(started: int, runs: int) -> tuple[float, float]:
    """Return the 95 % score interval (Wilson 1927) of the share of runs that start."""
    from scipy import stats

    interval = stats.binomtest(started, runs).proportion_ci(LEVEL, method="wilson")
    return float(interval.low), float(interval.high)


def _excludes_zero(interval: tuple[float, float]) -> bool:
    return interval[0] > 0 or interval[1] < 0


def _needed(difference: Difference, items: int) -> str:
    """Return how many items, or else seeds, or else both, would tell the same difference from 0."""
    seeds = difference.count

    def tells(own_items: int, own_seeds: int) -> bool:
        over_items = difference.items and difference.items * math.sqrt(items / own_items)
        over_seeds = difference.seeds and difference.seeds * math.sqrt(seeds / own_seeds)
        interval = Difference(difference.value, over_items, over_seeds, own_seeds).interval()
        return interval is not None and _excludes_zero(interval)

    def in_proportion(number: int) -> int:
        return math.ceil(number * seeds / items)

    if number := difference.items and _smallest(items, lambda n: tells(n, seeds)):
        return f"about {number:,} test items would tell"
    if number := difference.seeds and _smallest(seeds, lambda n: tells(items, n)):
        return f"about {number:,} seeds would tell"
    if number := difference.items and _smallest(items, lambda n: tells(n, in_proportion(n))):
        return f"about {number:,} test items and {in_proportion(number):,} seeds would tell"
    return f"more than {LARGEST:,} test items or seeds would be needed"


def _smallest(start: int, tells: Callable[[int], bool]) -> int | None:
    """Return the smallest number from `start` to `LARGEST` that tells, if any does."""
    place = bisect_left(range(start, LARGEST + 1), True, key=tells)
    return start + place if start + place <= LARGEST else None
