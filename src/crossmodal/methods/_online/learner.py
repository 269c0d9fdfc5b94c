"""Learning of one direction's model from a stream of triplets, in any number of pieces."""

from abc import ABC, abstractmethod
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from crossmodal.errors import DivergenceError
from crossmodal.methods._online import random_state
from crossmodal.methods._online.loop import Batch, Hyperparameters, learn

LISTS_PER_BLOCK = 4000

Model = TypeVar("Model", bound=NamedTuple)


class Learner(ABC, Generic[Model]):
    """A model, the state of its random generator and its progress; it keeps no data.

    Learning can resume at any time, and takes the same course whether it is interrupted or not.

    Args:
        model: Named tuple of arrays, which change in place.
        hyperparameters: Step size, list length and margin.
        rng: Draws the triplets.

    Attributes:
        lists: Number of lists learnt so far.
    """

    def __init__(
        self, model: Model, hyperparameters: Hyperparameters, rng: np.random.Generator
    ) -> None:
        self.model, self.hyperparameters, self.rng, self.lists = model, hyperparameters, rng, 0

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of the model by name."""
        return self.model._asdict()

    def state(self) -> dict[str, np.ndarray]:
        """Return all that learning depends on; `restore` resumes from it exactly."""
        progress = {"lists": np.array(self.lists), "rng": random_state.to_array(self.rng)}
        return {name: array.copy() for name, array in self.arrays.items()} | progress

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over what `state` returned."""
        for name, array in self.arrays.items():
            array[:] = state[name]
        self.lists = int(state["lists"])
        random_state.restore(self.rng, state["rng"])

    @abstractmethod
    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return A (p, k) and B (q, k) of the score x' A B' d."""

    def learn(self, batch: Batch, steps: tuple[int, int]) -> tuple[float, int, int]:
        """Draw lists number `steps[0]` to `steps[1] - 1` and learn from them.

        Returns:
            Sum of the losses, number of violating and of all triplets.
        """
        return learn(self.model, batch, self.rng, steps, self.hyperparameters)

    def begin_block(self) -> None:
        """Correct rounding errors of the model; called every `LISTS_PER_BLOCK` lists."""
        return

    def partial_fit(self, batch: Batch, lists: int) -> tuple[float, float]:
        """Learn from further lists of triplets of a batch.

        Args:
            batch: Items to draw from.
            lists: Number of lists.

        Returns:
            Mean loss of their triplets, and the share of triplets that violated their margin.

        Raises:
            DivergenceError: If the model is no longer finite.
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
            raise DivergenceError(
                f"step_size {self.hyperparameters.step_size}: the model is no longer finite after "
                f"{self.lists} lists of triplets; lower step_size"
            )
