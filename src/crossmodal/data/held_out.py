"""Validation items of datasets that are published in a training and a test part."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class HeldOut:
    """Validation items that are taken out of one of the published parts.

    Args:
        parts: Published number of items of each part.
        size: Number of validation items.
        seed: Seeds the draw.
        part: The part they are taken from.
        published: Their positions in that part, if they are not drawn.
    """

    parts: dict[str, int]
    size: int
    seed: int
    part: str = "train"
    published: frozenset[int] | None = None

    def counts(self) -> dict[str, int]:
        """Return the number of items of each split."""
        left = self.parts[self.part] - self.size
        return {**self.parts, self.part: left, "validation": self.size}

    def split(self, part: str, position: int) -> str:
        """Return the split of the item at a position, from 0, of a published part."""
        return "validation" if part == self.part and position in self._positions else part

    @cached_property
    def _positions(self) -> frozenset[int]:
        if self.published is not None:
            return self.published
        rng = np.random.default_rng(self.seed)
        return frozenset(rng.choice(self.parts[self.part], self.size, replace=False).tolist())
