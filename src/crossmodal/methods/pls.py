"""PLS: successive directions of largest covariance with orthogonal scores (Wold; canonical mode).

Each component maximises u' Sxy v over unit vectors; then each view is deflated by its own score,
so that the scores of a view are mutually orthogonal. Only second moments are read, so the cost does
not depend on the number of pairs. Retrieval by the cosine (Sharma and Jacobs, CVPR 2011).

Source: R. Rosipal, N. Kraemer, Overview and recent advances in partial least squares, 2006, mode A.
Cost of 41,000 pairs of 4,096 + 1,000 columns, k = 64: 1.7 GB with the features, 2 minutes of one
core.
"""

from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.sparse.linalg import svds

from crossmodal.data import Split
from crossmodal.linear.inputs import InputNorm, paired_inputs
from crossmodal.linear.moments import scatter
from crossmodal.linear.projection import Projection, require_rank
from crossmodal.methods.base import Run

NEGLIGIBLE = 1e-10  # share of the cross-covariance that is only the rounding of deflation


class PLS(Projection):
    """Orthogonal-score PLS from moments; the maps are those of scikit-learn's PLSCanonical.

    Args:
        dims: Size k of the shared space.
        input_norm: Scaling of the features, see `Inputs`; it changes the solution.
    """

    def __init__(self, dims: Annotated[int, Field(gt=0)], input_norm: InputNorm) -> None:
        self.dims = dims
        self.input_norm = input_norm

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both maps; nothing is random, so the seed does not matter.

        Raises:
            CrossmodalError: If fewer than `dims` directions of the views covary.
        """
        views = paired_inputs(train, self.input_norm)
        first, second = views
        moments = scatter(views)
        sides = [_Side(moments[first, first]), _Side(moments[second, second])]
        cross = moments[first, second]
        size = np.linalg.norm(cross)
        for component in range(self.dims):
            if np.linalg.norm(cross) <= NEGLIGIBLE * size:
                require_rank(run.label, self.dims, component, views)
            u, v = _leading(cross)
            p, c = sides[0].deflate(u), sides[1].deflate(v)
            cross = cross - np.outer(p, u @ cross)
            cross = cross - np.outer(cross @ v, c)
        self.keep(views, {m: side.rotations() for m, side in zip(views, sides, strict=True)})


class _Side:
    """Weights and loadings of one view, and its scatter matrix as deflated so far."""

    def __init__(self, moments: np.ndarray) -> None:
        self.moments = moments
        self.weights: list[np.ndarray] = []
        self.loadings: list[np.ndarray] = []

    def deflate(self, weight: np.ndarray) -> np.ndarray:
        """Take the score of a direction out of the view; returns its loading (d,)."""
        product = self.moments @ weight
        energy = weight @ product
        loading = product / energy
        self.moments = self.moments - energy * np.outer(loading, loading)
        self.weights.append(weight)
        self.loadings.append(loading)
        return loading

    def rotations(self) -> np.ndarray:
        """U (P'U)^-1 (d, k): what gives all scores from rows that are not deflated."""
        weights, loadings = np.stack(self.weights, axis=1), np.stack(self.loadings, axis=1)
        return np.linalg.solve((loadings.T @ weights).T, weights.T).T


def _leading(cross: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leading singular vectors u (p,) and v (q,) of a matrix (p, q)."""
    # ARPACK wants at least two columns, and pays where there are many
    narrow = min(cross.shape) < 100
    u, _, vt = np.linalg.svd(cross, full_matrices=False) if narrow else svds(cross, k=1, rng=0)
    return u[:, 0], vt[0]
