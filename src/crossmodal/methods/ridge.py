"""Ridge: predict the first view from the second by linear least squares; cosine in its space.

W = argmin 1/n sum_i |y_i C^-p/2 - x_i W|^2 + lambda v |W|^2 over all n pairs, both views centred,
with C the covariance of y and v the mean variance of the columns of x: the linear baseline of the
instance task.
"""

import numpy as np
import scipy.linalg
from pydantic import Field

from crossmodal.data.split import Split, View
from crossmodal.errors import CrossmodalError, listed
from crossmodal.learning.method import Method, Run
from crossmodal.methods._linear.whitening import mean_diagonal
from crossmodal.plugin import Positive, Share, Strict

SMALLEST = 1e-9  # lower bound of variances in whitening, as a fraction of the largest


class Ridge(Method):
    """Linear regression from the second view to the first, in closed form.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import Ridge
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> ridge = Ridge().fit(sepals, petals, species)
        >>> ridge.score(sepals, petals, species) > 0.4
        True
    """

    task = "instance"
    random = False

    class Options(Strict):
        """Options of the regression."""

        penalty: Positive = Field(
            description="Ridge lambda, in units of the mean variance of the inputs."
        )
        whitening: Share = Field(
            description="Power p: 0 leaves the first view as it is, 1 whitens it."
        )

    options: Options

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn the map.

        Raises:
            CrossmodalError: If the covariance of the second view is singular.
        """
        _, rows = train.pairs()
        (target, first), (source, second) = train.two_views().items()
        y = first.vectors().astype(np.float64)[rows[target]]  # (m, q)
        x = second.vectors().astype(np.float64)[rows[source]]  # (m, p)
        means = {target: y.mean(axis=0), source: x.mean(axis=0)}
        x -= means[source]
        y -= means[target]
        self.arrays = {f"mean.{modality}": mean for modality, mean in means.items()}
        if self.options.whitening:
            self.arrays[f"map.{target}"] = scaling = self._scaling(y)
            y = y @ scaling
        moments = x.T @ x / len(x)
        moments[np.diag_indices(len(moments))] += self.options.penalty * mean_diagonal(moments)
        shared = x.T @ y / len(x)
        try:
            self.arrays[f"map.{source}"] = scipy.linalg.solve(moments, shared, assume_a="pos")
        except np.linalg.LinAlgError as error:
            raise CrossmodalError(
                f"{run.label}: the covariance of {source} is singular: {_constant(x)}; raise "
                "penalty, or choose another feature"
            ) from error

    def _scaling(self, y: np.ndarray) -> np.ndarray:
        """Return C^-p/2 (q, q) of centred rows (m, q)."""
        values, vectors = scipy.linalg.eigh(y.T @ y / len(y))
        values = values.clip(min=SMALLEST * values[-1])
        return vectors * values ** (-self.options.whitening / 2) @ vectors.T

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Return the scaled first view, or its prediction from the second, (rows, q)."""
        centred = view.vectors() - self.arrays[f"mean.{modality}"]
        name = f"map.{modality}"
        return centred @ self.arrays[name] if name in self.arrays else centred


def _constant(x: np.ndarray) -> str:
    """Return which columns of rows (m, p) are constant, for a message."""
    constant = np.flatnonzero(np.ptp(x, axis=0) == 0)
    numbers = f" ({listed(map(str, constant))})" if len(constant) else ""
    return f"{len(constant)} of its {x.shape[1]} columns are constant{numbers}"
