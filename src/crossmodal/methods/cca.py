"""CCA: the linear maps under which paired views correlate most (Hotelling 1936).

Maximises tr(A' Sxy B) subject to A' Sxx A = B' Syy B = I, where Sxx and Syy carry a ridge.
Retrieval by the cosine of the canonical variates (Rasiwasia et al., ACM MM 2010), weighted by the
canonical correlations to the power s; s = 0 is the plain form.
"""

import warnings
from typing import Annotated

import numpy as np
import scipy.linalg
from pydantic import Field

from crossmodal.data import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.methods.base import Method, Run


class CCA(Method):
    """Ridge CCA in closed form.

    Args:
        dims: Size k of the shared space.
        ridge: kappa; each covariance gets kappa times its mean diagonal.
        power: s, exponent of the canonical correlations in the embedding.
    """

    task = "category"

    def __init__(
        self,
        dims: Annotated[int, Field(gt=0)],
        ridge: Annotated[float, Field(ge=0)],
        power: Annotated[float, Field(ge=0)],
    ) -> None:
        self.dims = dims
        self.ridge = ridge
        self.power = power

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both maps; nothing is random, so the seed does not matter.

        Raises:
            CrossmodalError: If `dims` exceeds the rank of a view.
        """
        _, rows = train.pairs()
        views = {
            m: view.vectors().astype(np.float64)[rows[m]] for m, view in train.two_views().items()
        }
        means = {m: x.mean(axis=0) for m, x in views.items()}
        (first, x), (second, y) = ((m, x - means[m]) for m, x in views.items())
        whiten_x, whiten_y = self._whitener(x), self._whitener(y)
        rank = min(whiten_x.shape[1], whiten_y.shape[1])
        if self.dims > rank:
            raise CrossmodalError(
                f"{run.label}: dims is {self.dims}, but {first} and {second} have only "
                f"{rank} common directions; lower dims"
            )
        if not self.ridge and whiten_x.shape[1] + whiten_y.shape[1] >= len(x):
            warnings.warn(
                f"{run.label}: ridge is 0 and {len(x)} pairs are too few for {first} and {second}: "
                "canonical correlations of 1 mean nothing; raise ridge",
                stacklevel=2,
            )
        cross = x.T @ y / (len(x) - 1)
        p, rho, qt = np.linalg.svd(whiten_x.T @ cross @ whiten_y, full_matrices=False)
        weight = rho[: self.dims] ** self.power
        self.arrays = {
            "correlations": rho,
            f"mean.{first}": means[first],
            f"mean.{second}": means[second],
            f"map.{first}": whiten_x @ p[:, : self.dims] * weight,  # (p, k)
            f"map.{second}": whiten_y @ qt[: self.dims].T * weight,  # (q, k)
        }

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Weighted canonical variates (rows, k) of one view."""
        centred = view.vectors() - self.arrays[f"mean.{modality}"]
        return centred @ self.arrays[f"map.{modality}"]

    def _whitener(self, x: np.ndarray) -> np.ndarray:
        """H (p, r) with H'(C + ridge)H = I, over the directions in which the view varies."""
        covariance = x.T @ x / (len(x) - 1)
        width = len(covariance)
        values, vectors = scipy.linalg.eigh(covariance)
        kept = values > width * np.finfo(np.float64).eps * values[-1]
        return vectors[:, kept] / np.sqrt(values[kept] + self.ridge * np.trace(covariance) / width)
