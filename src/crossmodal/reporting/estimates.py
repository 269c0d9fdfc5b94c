"""Numbers with their errors, and differences of them, paired by test items and by seeds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import mean, stdev

import numpy as np
from scipy import special  # not `stats`, whose import takes a third of Snakemake's start

LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number of each seed, and bootstrap draws of it.

    Args:
        by_seed: Seed -> value on the test items.
        draws: Seed -> values (draws,) on drawn test items; empty without values per query.
        deterministic: Whether the seed makes no difference.
    """

    by_seed: Mapping[int, float]
    draws: Mapping[int, np.ndarray] = field(default_factory=dict)
    deterministic: bool = False

    @property
    def error(self) -> float | None:
        """Standard error over test items of the mean over the seeds."""
        return float(np.std(sum(self.draws.values()) / len(self.draws))) if self.draws else None


@dataclass(frozen=True)
class Difference:
    """A difference of two estimates on the seeds that they share.

    Args:
        value: First minus second.
        items: Its standard error over test items; None without values per query.
        seeds: Standard error of its mean over the seeds; None of a single one.
        count: Seeds that are shared; 0 if no seed makes a difference.
    """

    value: float
    items: float | None
    seeds: float | None
    count: int

    @property
    def p(self) -> float:
        """Two-sided p of no difference over test items; 1 where it is not known."""
        if not self.items:
            return 1.0 if not self.value or self.items is None else 0.0
        return float(2 * special.ndtr(-abs(self.value) / self.items))

    @property
    def error(self) -> float | None:
        """Standard error over test items and seeds, as far as each is known."""
        parts = [e for e in (self.items, self.seeds) if e is not None]
        return math.hypot(*parts) if parts else None

    @property
    def quantile(self) -> float:
        """Half width of the interval in errors: Student's t by Satterthwaite's freedom."""
        if not self.seeds:
            return float(-special.ndtri((1 - LEVEL) / 2))
        share = self.seeds**2 / (self.seeds**2 + (self.items or 0) ** 2)
        return float(-special.stdtrit((self.count - 1) / share**2, (1 - LEVEL) / 2))

    def interval(self) -> tuple[float, float] | None:
        """Return the 95 % interval over test items and seeds; None if neither error is known."""
        if self.error is None:
            return None
        half = self.quantile * self.error
        return self.value - half, self.value + half


def difference(first: Estimate, second: Estimate) -> Difference:
    """Return first minus second, on shared seeds; a deterministic number is that of every seed.

    Args:
        first: An estimate.
        second: Another one on the same test items.
    """
    own, other = shared_seeds(first, second)
    values = [first.by_seed[a] - second.by_seed[b] for a, b in zip(own, other, strict=True)]
    spread = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    free = not (first.deterministic and second.deterministic)
    items = None
    if first.draws and second.draws:
        drawn = [first.draws[a] - second.draws[b] for a, b in zip(own, other, strict=True)]
        items = float(np.std(sum(drawn) / len(drawn)))
    return Difference(mean(values), items, spread if free else None, len(values) if free else 0)


def comparable(first: Estimate, second: Estimate) -> bool:
    """Return whether both have draws of the same test items, on a shared seed."""
    return bool(first.draws and second.draws and shared_seeds(first, second)[0])


def shared_seeds(first: Estimate, second: Estimate) -> tuple[list[int], list[int]]:
    """Return the seeds of both that belong together, in pairs; see `difference`."""
    if first.deterministic or second.deterministic:
        one, many = sorted((first, second), key=lambda e: not e.deterministic)
        seeds = [*many.by_seed]
        only = [next(iter(one.by_seed))] * len(seeds)
        return (only, seeds) if one is first else (seeds, only)
    shared = [seed for seed in first.by_seed if seed in second.by_seed]
    return shared, shared


def holm(ps: Mapping[str, float]) -> set[str]:
    """Return the names whose p is significant at 5 % by Holm's step-down procedure.

    Args:
        ps: p by name.
    """
    significant: set[str] = set()
    for place, name in enumerate(sorted(ps, key=lambda n: ps[n])):
        if ps[name] * (len(ps) - place) > 1 - LEVEL:
            break
        significant.add(name)
    return significant
