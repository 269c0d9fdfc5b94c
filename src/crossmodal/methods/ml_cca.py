"""ml-CCA: CCA over all image-text combinations, weighted by how alike their labels are.

With F_ij the similarity of the label vectors of image i and text j and N the sum of F:
Cxy = X'F Y / N, Cxx = X' diag(F 1) X / N, Cyy = Y' diag(F'1) Y / N, then as CCA. Computed exactly
without the n x n matrix F, by groups of items with the same labels. Pairs are not used.

Source: V. Ranjan, N. Rasiwasia, C. V. Jawahar, Multi-label cross-modal retrieval, ICCV 2015.
Cost: about four p^2 float64 matrices, G (p + q) sums for G distinct label sets and 4,096 G
similarities at a time (2 GB at G = 22,000); time n (p^2 + q^2) + G^2 q.
"""

from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.spatial.distance import cdist

from crossmodal.data import Split
from crossmodal.evaluation.retrieval import unit_rows
from crossmodal.linear.inputs import Inputs, require_labels, row_blocks
from crossmodal.linear.moments import weighted_scatter
from crossmodal.linear.projection import Projection, require_rank
from crossmodal.linear.whitening import canonical_directions, mean_diagonal, whitener
from crossmodal.methods.base import Run


class MLCCA(Projection):
    """ml-CCA in closed form; with one label per item and `sigma` null, cluster-CCA.

    Args:
        dims: Size k of the shared space.
        ridge: kappa; each covariance gets kappa times its mean diagonal.
        power: s, exponent of the correlations in the embedding.
        sigma: Labels z, z' are exp(-|z - z'|^2 / sigma) alike; null: the cosine of z and z', which
            leaves items without label out.
    """

    def __init__(
        self,
        dims: Annotated[int, Field(gt=0)],
        ridge: Annotated[float, Field(ge=0)],
        power: Annotated[float, Field(ge=0)],
        sigma: Annotated[float, Field(gt=0)] | None,
    ) -> None:
        self.dims = dims
        self.ridge = ridge
        self.power = power
        self.sigma = sigma

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both maps; nothing is random, so the seed does not matter.

        Raises:
            CrossmodalError: If no item has a label, or `dims` exceeds the rank of a view.
        """
        require_labels(train)
        views = {
            m: Inputs(view.vectors(), "raw", np.arange(len(view.items)))
            for m, view in train.two_views().items()
        }
        cross, covariances = self._covariances(train, views)
        whiteners = [whitener(c, self.ridge * mean_diagonal(c)) for c in covariances]
        require_rank(run.label, self.dims, min(h.shape[1] for h in whiteners), views)
        a, rho, b = canonical_directions(whiteners[0], cross, whiteners[1])
        weight = rho[: self.dims] ** self.power
        first, second = views
        self.keep(views, {first: a[:, : self.dims] * weight, second: b[:, : self.dims] * weight})
        self.arrays["correlations"] = rho

    def _covariances(
        self, train: Split, views: dict[str, Inputs]
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Cxy (p, q), and Cxx (p, p) with Cyy (q, q)."""
        distinct, group = np.unique(train.labels, axis=0, return_inverse=True)
        groups = [group[train.views[m].items] for m in views]  # of each row
        counts = [np.bincount(g, minlength=len(distinct)) for g in groups]
        sums = [
            _group_sums(view, g, len(distinct))
            for view, g in zip(views.values(), groups, strict=True)
        ]
        cross = 0.0
        weights = [np.empty(len(distinct)), np.empty(len(distinct))]
        for block in row_blocks(len(distinct)):
            alike = self._similarity(distinct[block], distinct)  # symmetric as a whole
            cross = cross + sums[0][block].T @ (alike @ sums[1])
            weights[0][block], weights[1][block] = alike @ counts[1], alike @ counts[0]
        total = weights[0] @ counts[0]
        covariances = [
            weighted_scatter(view, w[g]) / total
            for view, w, g in zip(views.values(), weights, groups, strict=True)
        ]
        return cross / total, covariances

    def _similarity(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """f (r, s) of label vectors (r, C) and (s, C)."""
        first, second = first.astype(np.float64), second.astype(np.float64)
        if self.sigma is None:
            return unit_rows(first) @ unit_rows(second).T
        return np.exp(-cdist(first, second, "sqeuclidean") / self.sigma)


def _group_sums(view: Inputs, groups: np.ndarray, count: int) -> np.ndarray:
    """Sum of the rows of each group, (count, d)."""
    sums = np.zeros((count, len(view.mean)))
    for block in row_blocks(len(view)):
        np.add.at(sums, groups[block], view[block])
    return sums
