"""Ridge: predict the first view from the second by linear least squares; cosine in its space.

W = argmin 1/n sum_i |y_i - x_i W|^2 + lambda v |W|^2 over all n pairs, both views centred, with v
the mean variance of the columns of x. The simplest
learner of the instance task: what a deeper method must beat.
"""

from typing import Annotated

import numpy as np
import scipy.linalg
from pydantic import Field

from crossmodal.data import Split, View
from crossmodal.methods.base import Method, Run


class Ridge(Method):
    """Linear regression from the second view to the first, in closed form.

    Args:
        penalty: lambda.
    """

    task = "instance"

    def __init__(self, penalty: Annotated[float, Field(gt=0)]) -> None:
        self.penalty = penalty

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn the map; nothing is random, so the seed does not matter."""
        _, rows = train.pairs()
        (target, first), (source, second) = train.two_views().items()
        y = first.vectors().astype(np.float64)[rows[target]]  # (m, q)
        x = second.vectors().astype(np.float64)[rows[source]]  # (m, p)
        means = {target: y.mean(axis=0), source: x.mean(axis=0)}
        x -= means[source]
        y -= means[target]
        moments = x.T @ x / len(x)
        moments[np.diag_indices(len(moments))] += self.penalty * np.trace(moments) / len(moments)
        self.arrays = {
            f"mean.{target}": means[target],
            f"mean.{source}": means[source],
            f"map.{source}": scipy.linalg.solve(moments, x.T @ y / len(x), assume_a="pos"),
        }

    def embed(self, modality: str, view: View) -> np.ndarray:
        """The centred first view, or its prediction from the second, (rows, q)."""
        centred = view.vectors() - self.arrays[f"mean.{modality}"]
        name = f"map.{modality}"
        return centred @ self.arrays[name] if name in self.arrays else centred
