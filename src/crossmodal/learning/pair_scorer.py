"""Methods whose score of a pair is a network: its weights go with the embeddings."""

from abc import abstractmethod
from hashlib import blake2b
from typing import ClassVar

import numpy as np

from crossmodal.learning.method import Direction, Method


class PairScorer(Method):
    """A method that scores by what it learnt, beyond the embeddings of both sides.

    The scores of the last pairs are kept: the evaluation of both directions scores each pair once
    where one block holds all (see `crossmodal.metrics.blocks`), as of 1,000 images by 5,000 texts.

    Attributes:
        scores_on_gpu: Whether the evaluation of its runs uses a GPU.
    """

    scores_on_gpu: ClassVar[bool] = True
    _last: tuple[bytes, np.ndarray] = b"", np.empty(0)

    @abstractmethod
    def score_pairs(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return scores (n, m) of embeddings (n, ...) and (m, ...), in the order of `takes`."""

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Return scores (q, g), higher is better."""
        swapped = direction[0] != next(iter(self.takes))
        sides = (gallery, queries) if swapped else (queries, gallery)
        digest = blake2b()
        for array in (*sides, *self.scoring_state().values()):
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        pairs, (last, scores) = digest.digest(), self._last
        if pairs != last:
            scores = self.score_pairs(*sides)
            self._last = pairs, scores
        return scores.T if swapped else scores

    @abstractmethod
    def scoring_state(self) -> dict[str, np.ndarray]:
        """Return the arrays, each of one axis or more, that a score needs besides embeddings."""

    @abstractmethod
    def restore_scoring(self, state: dict[str, np.ndarray]) -> None:
        """Take over what `scoring_state` returned, to score without the whole network."""
