"""full-SGD: one bilinear score of full rank per direction, learnt online from triplets.

    s(x, d) = x' W d
    loss = sum over J triplets of one query of max(0, margin(d+, d-) - (s(x, d+) - s(x, d-)))

The loss, margins and triplets are those of CMOLRS, the steps plain gradient steps from W = 0.

Source: the baseline of Wu, Wang, Huang, Online fast adaptive low-rank similarity learning for
cross-modal retrieval, IEEE TMM 22(5), 2020, section IV-G.
"""

import numpy as np

from crossmodal.online.bidirectional import (
    Bidirectional,
    Count,
    Energy,
    NotNegative,
    Positive,
    Share,
)
from crossmodal.online.full_rank import FullRank
from crossmodal.online.hinge import Margin
from crossmodal.online.learner import Options
from crossmodal.online.preprocessing import Normalise


class FullSGD(Bidirectional):
    """Each step adds a matrix of rank one.

    Args:
        step_size: eta > 0. It and the margins depend on the scaling of the features.
        margin_scale: beta >= 0.
        margin_base: What is added to every margin, >= 0.
        feature_weight: alpha, share of the feature distance in the margin, 0 to 1.
        triplets_per_query: J >= 1, triplets that make one step.
        triplets: Triplets to learn from in each direction.
        normalise: Scaling of the features; see `fit_preprocessing`.
        pca_energy: Share of the variance that PCA keeps, (0, 1]; None: no PCA.
    """

    def __init__(
        self,
        step_size: Positive,
        margin_scale: NotNegative,
        margin_base: NotNegative,
        feature_weight: Share,
        triplets_per_query: Count,
        triplets: Count,
        normalise: Normalise,
        pca_energy: Energy,
    ) -> None:
        margin = Margin(margin_scale, feature_weight, margin_base)
        options = Options(step_size, triplets_per_query, margin)
        super().__init__(options, triplets, normalise, pca_energy)

    def start(self, widths: tuple[int, int], rng: np.random.Generator) -> FullRank:
        """W = 0."""
        return FullRank(np.zeros(widths), self.options, rng)

    def resume(self, factors: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> FullRank:
        """W is the product of the factors."""
        query, document = factors
        return FullRank(query @ document.T, self.options, rng)
