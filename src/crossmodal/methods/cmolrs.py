"""CMOLRS: one low-rank bilinear score per direction, learnt online from triplets.

    s(x, d) = x' A B' d
    loss = sum over J triplets of one query of max(0, margin(d+, d-) - (s(x, d+) - s(x, d-)))

CMOLRS learns from one triplet at a time, J = 1; fast-CMOLRS from lists of several.

Source: Wu, Wang, Huang, Online fast adaptive low-rank similarity learning for cross-modal
retrieval, IEEE TMM 22(5), 2020, algorithms 2 and 3.
"""

import numpy as np

from crossmodal.online.bidirectional import (
    Bidirectional,
    Count,
    Energy,
    Model,
    NotNegative,
    Positive,
    Share,
)
from crossmodal.online.hinge import Margin
from crossmodal.online.learner import Options
from crossmodal.online.loreta import LowRank
from crossmodal.online.preprocessing import Normalise


class CMOLRS(Bidirectional):
    """Each step is one of LORETA-1.

    Args:
        rank: k of both models, at most the smaller number of dimensions after PCA.
        step_size: eta > 0. It and the margins depend on the scaling of the features.
        margin_scale: beta >= 0.
        margin_base: What is added to every margin, >= 0; the paper has none.
        feature_weight: alpha, share of the feature distance in the margin, 0 to 1.
        triplets_per_query: J >= 1, triplets that make one step.
        triplets: Triplets to learn from in each direction.
        normalise: Scaling of the features; see `fit_preprocessing`.
        pca_energy: Share of the variance that PCA keeps, (0, 1]; None: no PCA.
        within: Whose factors serve retrieval within a modality: the 'first' direction's or the
            'second' one's.
    """

    def __init__(
        self,
        rank: Count,
        step_size: Positive,
        margin_scale: NotNegative,
        margin_base: NotNegative,
        feature_weight: Share,
        triplets_per_query: Count,
        triplets: Count,
        normalise: Normalise,
        pca_energy: Energy,
        within: Model,
    ) -> None:
        margin = Margin(margin_scale, feature_weight, margin_base)
        options = Options(step_size, triplets_per_query, margin)
        super().__init__(options, triplets, normalise, pca_energy)
        self.rank, self.within = rank, within

    def start(self, widths: tuple[int, int], rng: np.random.Generator) -> LowRank:
        """Factors from N(0, 1)."""
        return LowRank.start(widths, self.rank, self.options, rng)

    def resume(self, factors: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> LowRank:
        """The factors as they are."""
        return LowRank(*factors, self.options, rng)
