"""full-SGD: one bilinear score of full rank per direction, learnt online from triplets.

    s(x, d) = x' W d
    loss = sum over J triplets of one query of max(0, margin(d+, d-) - (s(x, d+) - s(x, d-)))

The loss, margins and triplets are those of CMOLRS, the steps plain gradient steps from W = 0.

Source: the baseline of Wu, Wang, Huang, Online fast adaptive low-rank similarity learning for
cross-modal retrieval, IEEE TMM 22(5), 2020, section IV-G.
"""

import numpy as np

from crossmodal.methods._online.bidirectional import Bidirectional
from crossmodal.methods._online.full_rank import FullRank


class FullSGD(Bidirectional):
    """Each step adds a matrix of rank one.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import FullSGD
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> sgd = FullSGD(triplets=500).fit(sepals, petals, species)
        >>> sgd.similarity(sepals, petals).shape
        (150, 150)
    """

    def start(self, widths: tuple[int, int], rng: np.random.Generator) -> FullRank:
        """Start at W = 0."""
        return FullRank(np.zeros(widths), self.hyperparameters, rng)

    def resume(self, factors: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> FullRank:
        """Multiply the factors to W."""
        query, document = factors
        return FullRank(query @ document.T, self.hyperparameters, rng)
