"""Scaling of features before online learning, and optionally PCA.

Everything is fitted on training rows. The projection is applied without centring once more.
"""

from collections.abc import Iterator
from typing import Annotated, Self

import numpy as np
from pydantic import Field

from crossmodal.learning.scaling import Kind, Scaling, ScalingOptions, row_blocks


class PreprocessingOptions(ScalingOptions):
    """Options of `Preprocessing`."""

    pca_energy: Annotated[float, Field(gt=0, le=1)] | None = Field(
        0.95, description="Share of the variance that PCA keeps, (0, 1]; null: no PCA."
    )


class Preprocessing:
    """The fitted preprocessing of one modality, in float32.

    Args:
        scaling: See `ScalingOptions`.
        arrays: `mean` and `scale`, (d,), and with PCA `components`, (d, d'); others are ignored.
    """

    def __init__(self, scaling: Kind, arrays: dict[str, np.ndarray]) -> None:
        self.scaling = Scaling(scaling, arrays["mean"], arrays["scale"])
        self.components = arrays.get("components")

    @classmethod
    def fit(cls, features: np.ndarray, options: PreprocessingOptions) -> Self:
        """Take the statistics of training rows (n, d)."""
        blocks = (features[rows] for rows in row_blocks(len(features)))
        scaling = Scaling.fit(options.scaling, blocks).astype(np.float32)
        fitted = cls(options.scaling, scaling.state())
        if options.pca_energy is not None:
            fitted.components = _components(
                fitted._scaled(features), fitted.width, options.pca_energy
            )
        return fitted

    @property
    def width(self) -> int:
        """Return the number d' of columns of the rows that come out."""
        return (self.scaling.mean if self.components is None else self.components).shape[-1]

    def transform(self, features: np.ndarray) -> np.ndarray:
        """Return the rows (n, d') that methods learn from; zero rows stay zero."""
        result = np.empty((len(features), self.width), np.float32)
        for rows, block in zip(row_blocks(len(features)), self._scaled(features), strict=True):
            result[rows] = block if self.components is None else block @ self.components
        return result

    def state(self) -> dict[str, np.ndarray]:
        """Return the arrays that the preprocessing is restored from."""
        pca = {} if self.components is None else {"components": self.components}
        return self.scaling.state() | pca

    def _scaled(self, features: np.ndarray) -> Iterator[np.ndarray]:
        return (self.scaling.transform(features[rows]) for rows in row_blocks(len(features)))


def _components(blocks: Iterator[np.ndarray], width: int, energy: float) -> np.ndarray:
    """Return the leading eigenvectors (d, d') of the covariance of rows, in blocks (n, d)."""
    count, total, products = 0, np.zeros(width), np.zeros((width, width))
    for block in blocks:
        count += len(block)
        total += block.sum(axis=0)
        products += block.T @ block
    mean = total / count
    variances, vectors = np.linalg.eigh(products / count - np.outer(mean, mean))
    explained = np.cumsum(variances[::-1]) / variances.sum()
    rank = np.searchsorted(explained, energy - 1e-9) + 1  # rounding must not cost a component
    return vectors[:, ::-1][:, :rank].astype(np.float32)
