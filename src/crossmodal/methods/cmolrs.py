"""CMOLRS: one low-rank bilinear score per direction, learnt online from triplets.

    s(x, d) = x' A B' d
    loss = sum over J triplets of one query of max(0, margin(d+, d-) - (s(x, d+) - s(x, d-)))

CMOLRS makes a step per triplet, J = 1; fast-CMOLRS one per list of several triplets.

Source: Wu, Wang, Huang, Online fast adaptive low-rank similarity learning for cross-modal
retrieval, IEEE TMM 22(5), 2020, algorithms 2 and 3.
"""

import numpy as np
from pydantic import Field

from crossmodal.methods._online.bidirectional import Bidirectional, Model
from crossmodal.methods._online.loreta import LowRank
from crossmodal.plugin import Count


class CMOLRS(Bidirectional):
    """Each step is one of LORETA-1.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import CMOLRS
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> cmolrs = CMOLRS(rank=2, triplets=500).fit(sepals, petals, species)
        >>> cmolrs.similarity(sepals, petals).shape
        (150, 150)
    """

    class Options(Bidirectional.Options):
        rank: Count = Field(
            description="Rank k of both models, at most the smaller feature dimension after PCA."
        )
        within: Model = Field(
            "first",
            description="Direction whose factors serve intra-modal retrieval; the first direction "
            "is the one whose query modality comes first in the alphabet.",
        )

    options: Options

    @property
    def intra_modal(self) -> Model:
        """Return the direction whose factors serve intra-modal retrieval."""
        return self.options.within

    def start(self, widths: tuple[int, int], rng: np.random.Generator) -> LowRank:
        """Draw the factors from N(0, 1)."""
        return LowRank.start(widths, self.options.rank, self.hyperparameters, rng)

    def resume(self, factors: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> LowRank:
        """Take the factors as they are."""
        return LowRank(*factors, self.hyperparameters, rng)
