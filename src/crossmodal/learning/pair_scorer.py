"""Methods whose score of a pair is a network: its weights go with the embeddings."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np


class PairScorer(ABC):
    """A method that scores by what it learnt, beyond the embeddings of both sides.

    Attributes:
        scores_on_gpu: Whether the evaluation of its runs uses a GPU.
    """

    scores_on_gpu: ClassVar[bool] = True

    @abstractmethod
    def scoring_state(self) -> dict[str, np.ndarray]:
        """Return the arrays, each of one axis or more, that `score` needs besides embeddings."""

    @abstractmethod
    def restore_scoring(self, state: dict[str, np.ndarray]) -> None:
        """Take over what `scoring_state` returned, to score without the whole network."""
