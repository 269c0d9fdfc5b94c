"""Learning of one direction's model from a stream of triplets, in any number of pieces."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.online.hinge import Margin
from crossmodal.online.triplets import Sampler

LISTS_PER_BLOCK = 4000


class Options(NamedTuple):
    """Options of learning.

    Args:
        step_size: eta > 0.
        triplets_per_query: J >= 1, the length of a list.
        margin: Options of the margin.
    """

    step_size: float
    triplets_per_query: int
    margin: Margin


class Batch(NamedTuple):
    """Items to learn from, for one direction.

    Args:
        queries: Features, (n, p); their precision may differ from that of the model.
        documents: Features, (m, q).
        sampler: Draws the triplets.
    """

    queries: np.ndarray
    documents: np.ndarray
    sampler: Sampler


class Learner(ABC):
    """A model, the state of its random numbers and how far it has come; it keeps no data.

    Learning can go on at any time, and takes the same course whether it is interrupted or not.

    Attributes:
        options: Options of learning.
        rng: Draws the triplets.
        lists: Lists that were learnt.
    """

    def __init__(self, options: Options, rng: np.random.Generator) -> None:
        self.options, self.rng, self.lists = options, rng, 0

    @property
    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """The model; learning changes the arrays in place."""

    @abstractmethod
    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """A (p, k) and B (q, k) of the score x' A B' d."""

    @abstractmethod
    def learn(self, batch: Batch, steps: tuple[int, int]) -> tuple[float, int, int]:
        """Draw lists number `steps[0]` to `steps[1]` and learn from them.

        Returns:
            Sum of the losses, number of violating and of all triplets.
        """

    def begin_block(self) -> None:
        """Undo what rounding has done to the model; called once in `LISTS_PER_BLOCK` lists."""
        return

    def partial_fit(self, batch: Batch, lists: int) -> tuple[float, float]:
        """Learn from so many further lists of triplets of a batch.

        Returns:
            Mean loss of their triplets, and the share of triplets that violated their margin.

        Raises:
            CrossmodalError: If the model diverged.
        """
        totals = np.zeros(3)  # loss, violating triplets, all triplets
        end = self.lists + lists
        while self.lists < end:
            into_block = self.lists % LISTS_PER_BLOCK
            if into_block == 0:
                self.begin_block()
            stop = min(end, self.lists - into_block + LISTS_PER_BLOCK)
            totals += self.learn(batch, (self.lists, stop))
            self.lists = stop
            self._check()
        loss, violating = totals[:2] / max(totals[2], 1)  # a list may find no triplet
        return float(loss), float(violating)

    def _check(self) -> None:
        if not all(np.isfinite(array).all() for array in self.arrays.values()):
            raise CrossmodalError(
                f"step_size {self.options.step_size}: the model is no longer finite after "
                f"{self.lists} lists of triplets; lower step_size"
            )
