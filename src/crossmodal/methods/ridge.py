"""Ridge: predict the first view from the second by linear least squares; cosine in its space.

W = argmin 1/n sum_i |y_i C^-p/2 - x_i W|^2 + lambda v |W|^2 over all n pairs, both views centred,
with C the covariance of y and v the mean variance of the columns of x. The simplest learner of the
instance task: what a deeper method must beat.
"""

from typing import Annotated

import numpy as np
import scipy.linalg
from pydantic import Field

from crossmodal.data import Split, View
from crossmodal.linear.whitening import mean_diagonal
from crossmodal.methods.base import Method, Run

SMALLEST = 1e-9  # share of the largest variance below which directions are not stretched further


class Ridge(Method):
    """Linear regression from the second view to the first, in closed form.

    Args:
        penalty: lambda.
        whitening: p: 0 takes the first view as it is, 1 whitens it.
    """

    task = "instance"

    def __init__(
        self,
        penalty: Annotated[float, Field(gt=0)],
        whitening: Annotated[float, Field(ge=0, le=1)],
    ) -> None:
        self.penalty, self.whitening = penalty, whitening

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn the map; nothing is random, so the seed does not matter."""
        _, rows = train.pairs()
        (target, first), (source, second) = train.two_views().items()
        y = first.vectors().astype(np.float64)[rows[target]]  # (m, q)
        x = second.vectors().astype(np.float64)[rows[source]]  # (m, p)
        means = {target: y.mean(axis=0), source: x.mean(axis=0)}
        x -= means[source]
        y -= means[target]
        self.arrays = {f"mean.{modality}": mean for modality, mean in means.items()}
        if self.whitening:
            self.arrays[f"map.{target}"] = scaling = self._scaling(y)
            y = y @ scaling
        moments = x.T @ x / len(x)
        moments[np.diag_indices(len(moments))] += self.penalty * mean_diagonal(moments)
        shared = x.T @ y / len(x)
        self.arrays[f"map.{source}"] = scipy.linalg.solve(moments, shared, assume_a="pos")

    def _scaling(self, y: np.ndarray) -> np.ndarray:
        """C^-p/2 (q, q) of centred rows (m, q)."""
        values, vectors = scipy.linalg.eigh(y.T @ y / len(y))
        values = values.clip(min=SMALLEST * values[-1])
        return vectors * values ** (-self.whitening / 2) @ vectors.T

    def embed(self, modality: str, view: View) -> np.ndarray:
        """The scaled first view, or its prediction from the second, (rows, q)."""
        centred = view.vectors() - self.arrays[f"mean.{modality}"]
        name = f"map.{modality}"
        return centred @ self.arrays[name] if name in self.arrays else centred
