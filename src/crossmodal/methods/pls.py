"""PLS: successive directions of largest covariance with orthogonal scores (Wold; canonical mode).

Each component maximises u' Sxy v over unit vectors; then each view is deflated by its own score,
so that the scores of a view are mutually orthogonal. After one pass for the second moments, the
cost does not depend on the number of pairs. Retrieval by the cosine (Sharma and Jacobs, CVPR 2011).

Source: R. Rosipal, N. Kraemer, Overview and recent advances in partial least squares, 2006, mode A.
Cost of 41,000 pairs of 4,096 + 1,000 columns, k = 64: 1.7 GB with the features, 2 minutes of one
core.
"""

import numpy as np
from scipy.sparse.linalg import svds

from crossmodal.data.split import Split
from crossmodal.learning.method import Run
from crossmodal.methods._linear.inputs import paired_inputs
from crossmodal.methods._linear.moments import scatter
from crossmodal.methods._linear.projection import ProjectionOptions, ScaledProjection, usable_dims

NEGLIGIBLE = 1e-10  # fraction of the cross-covariance's norm below which it is rounding error


class PLS(ScaledProjection):
    """Orthogonal-score PLS from moments; the maps are those of scikit-learn's PLSCanonical.

    They depend on the scaling of the features.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import PLS
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> pls = PLS(dims=2).fit(sepals, petals, species)
        >>> pls.score(sepals, petals, species) > 0.4
        True
    """

    random = False
    Options = ProjectionOptions
    options: ProjectionOptions

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both maps.

        Raises:
            CrossmodalError: If no directions of the views covary.
        """
        views = paired_inputs(train, self.scaling)
        first, second = views
        moments = scatter(views)
        sides = [_Side(moments[first, first]), _Side(moments[second, second])]
        cross = moments[first, second]
        size = np.linalg.norm(cross)
        for component in range(self.options.dims):
            if np.linalg.norm(cross) <= NEGLIGIBLE * size:
                usable_dims(run.label, self.options.dims, component, views)
                break
            u, v = _leading(cross)
            p, c = sides[0].deflate(u), sides[1].deflate(v)
            cross = cross - np.outer(p, u @ cross)
            cross = cross - np.outer(cross @ v, c)
        self.keep(views, {m: side.rotations() for m, side in zip(views, sides, strict=True)})


class _Side:
    """Weights and loadings of one view, and its deflated scatter matrix."""

    def __init__(self, moments: np.ndarray) -> None:
        self.moments = moments
        self.weights: list[np.ndarray] = []
        self.loadings: list[np.ndarray] = []

    def deflate(self, weight: np.ndarray) -> np.ndarray:
        """Remove the score of a direction (d,) from the view; returns its loading (d,)."""
        product = self.moments @ weight
        energy = weight @ product
        loading = product / energy
        self.moments = self.moments - energy * np.outer(loading, loading)
        self.weights.append(weight)
        self.loadings.append(loading)
        return loading

    def rotations(self) -> np.ndarray:
        """Return U (P'U)^-1 (d, k), which maps rows that are not deflated to all scores."""
        weights, loadings = np.stack(self.weights, axis=1), np.stack(self.loadings, axis=1)
        return np.linalg.solve((loadings.T @ weights).T, weights.T).T


def _leading(cross: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return leading singular vectors u (p,) and v (q,) of a matrix (p, q)."""
    # ARPACK needs at least two columns, and is faster if there are many
    narrow = min(cross.shape) < 100
    u, _, vt = np.linalg.svd(cross, full_matrices=False) if narrow else svds(cross, k=1, rng=0)
    return u[:, 0], vt[0]
