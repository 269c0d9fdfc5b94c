"""ml-CCA: CCA over all image-text combinations, weighted by the similarity of their labels.

With F_ij the similarity of the label vectors of image i and text j and N the sum of F:
Cxy = X'F Y / N, Cxx = X' diag(F 1) X / N, Cyy = Y' diag(F'1) Y / N, then as CCA. Computed exactly
without the n x n matrix F, from groups of items with the same labels. Pairs are ignored.

Source: V. Ranjan, N. Rasiwasia, C. V. Jawahar, Multi-label cross-modal retrieval, ICCV 2015.
Cost: about four p^2 float64 matrices, G (p + q) sums for G distinct label sets and 4,096 G
similarities at a time (2 GB at G = 22,000); time n (p^2 + q^2) + G^2 q.
"""

import numpy as np
from pydantic import Field
from scipy.spatial.distance import cdist

from crossmodal.data.learnable import require_labels
from crossmodal.data.split import Split
from crossmodal.learning.method import Run
from crossmodal.learning.scaling import row_blocks
from crossmodal.methods._linear.canonical import CanonicalProjection
from crossmodal.methods._linear.inputs import Inputs
from crossmodal.methods._linear.moments import Blocks, weighted_scatter
from crossmodal.plugin import Positive
from crossmodal.vectors import unit_rows


class MLCCA(CanonicalProjection):
    """ml-CCA in closed form; with one label per item and `sigma` null it is cluster-CCA.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import MLCCA
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> cca = MLCCA(dims=2).fit(sepals, petals, species)
        >>> cca.score(sepals, petals, species) > 0.4
        True
    """

    class Options(CanonicalProjection.Options):
        """Options of CCA and of the similarity of labels."""

        sigma: Positive | None = Field(
            1.0,
            description="Width of the similarity exp(-|z - z'|^2 / sigma) of label vectors z, z'; "
            "null: their cosine, which leaves out items without labels.",
        )

    options: Options

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both maps.

        Raises:
            CrossmodalError: If labels do not tell items apart, or `dims` exceeds the rank of a
                view.
        """
        require_labels(train)
        views = {
            m: Inputs(view.vectors(), "centre", np.arange(len(view.items)))
            for m, view in train.two_views().items()
        }
        self.solve(run.label, views, self._covariances(train, views))

    def _covariances(self, train: Split, views: dict[str, Inputs]) -> Blocks:
        """Return Cxy (p, q), Cxx (p, p) and Cyy (q, q), by pair of views."""
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
            alike = self._similarity(distinct[block], distinct)  # rows of a symmetric matrix
            cross = cross + sums[0][block].T @ (alike @ sums[1])
            weights[0][block], weights[1][block] = alike @ counts[1], alike @ counts[0]
        total = weights[0] @ counts[0]
        own = {
            (m, m): weighted_scatter(view, w[g]) / total
            for (m, view), w, g in zip(views.items(), weights, groups, strict=True)
        }
        first, second = views
        return own | {(first, second): cross / total}

    def _similarity(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return similarities f (r, s) of label vectors (r, C) and (s, C)."""
        first, second = first.astype(np.float64), second.astype(np.float64)
        if self.options.sigma is None:
            return unit_rows(first) @ unit_rows(second).T
        return np.exp(-cdist(first, second, "sqeuclidean") / self.options.sigma)


def _group_sums(view: Inputs, groups: np.ndarray, count: int) -> np.ndarray:
    """Return the sum of the rows of each group, (count, d)."""
    sums = np.zeros((count, view.width))
    for block in row_blocks(len(view)):
        np.add.at(sums, groups[block], view[block])
    return sums
