"""Scaling of features before online learning, and optionally PCA.

Everything is fitted on training rows. The projection is applied without centring once more.
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import Field
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches

from crossmodal.learning.scaling import Scaling, ScalingOptions
from crossmodal.vectors import unit_rows

ROWS_PER_BLOCK = 4096


class PreprocessingOptions(ScalingOptions):
    """Options of `fit_preprocessing`."""

    pca_energy: Annotated[float, Field(gt=0, le=1)] | None = Field(
        0.95, description="Share of the variance that PCA keeps, (0, 1]; null: no PCA."
    )


def fit_preprocessing(features: np.ndarray, options: PreprocessingOptions) -> dict[str, np.ndarray]:
    """Statistics of one modality.

    Args:
        features: Training rows, (n, d).
        options: Scaling and PCA.

    Returns:
        'mean' and 'scale', (d,), and with PCA 'components', (d, kept), all float32.
    """
    scaling = options.scaling
    scaler = StandardScaler(with_mean=scaling != "raw", with_std=scaling.startswith("zscore"))
    for rows in gen_batches(len(features), ROWS_PER_BLOCK):
        scaler.partial_fit(_begun(features[rows], scaling))
    mean = scaler.mean_ if scaler.with_mean else np.zeros(features.shape[1])
    scale = scaler.scale_ if scaler.with_std else np.ones_like(mean)
    statistics = {"mean": mean.astype(np.float32), "scale": scale.astype(np.float32)}
    if options.pca_energy is not None:
        blocks = _scaled(features, statistics, scaling)
        statistics["components"] = _components(blocks, features.shape, options.pca_energy)
    return statistics


def preprocess(
    features: np.ndarray, statistics: dict[str, np.ndarray], scaling: Scaling
) -> np.ndarray:
    """Rows as the online methods learn from them, (n, d') float32; zero rows stay zero.

    Args:
        features: Rows of the modality, (n, d).
        statistics: What `fit_preprocessing` returned for it.
        scaling: The option that it was called with.
    """
    components = statistics.get("components")
    found = np.empty((len(features), preprocessed_width(statistics)), np.float32)
    blocks = _scaled(features, statistics, scaling)
    for rows, block in zip(gen_batches(len(features), ROWS_PER_BLOCK), blocks, strict=True):
        found[rows] = block if components is None else block @ components
    return found


def preprocessed_width(statistics: dict[str, np.ndarray]) -> int:
    """Columns d' of the rows that `preprocess` makes with these statistics."""
    return statistics.get("components", statistics["mean"]).shape[-1]


def _begun(rows: np.ndarray, scaling: Scaling) -> np.ndarray:
    """Rows whose mean is subtracted next."""
    return unit_rows(rows) if scaling == "l2-centre" else rows


def _scaled(
    features: np.ndarray, statistics: dict[str, np.ndarray], scaling: Scaling
) -> Iterator[np.ndarray]:
    """Scaled rows (rows, d), block by block."""
    for rows in gen_batches(len(features), ROWS_PER_BLOCK):
        block = _begun(features[rows].astype(np.float32), scaling)
        block = (block - statistics["mean"]) / statistics["scale"]
        yield unit_rows(block) if scaling.endswith("-l2") else block


def _components(blocks: Iterator[np.ndarray], shape: tuple[int, int], energy: float) -> np.ndarray:
    """Leading eigenvectors (d, kept) of the covariance of scaled rows (n, d)."""
    count, width = shape
    total, products = np.zeros(width), np.zeros((width, width))
    for block in blocks:
        total += block.sum(axis=0)
        products += block.T @ block
    mean = total / count
    variances, vectors = np.linalg.eigh(products / count - np.outer(mean, mean))
    explained = np.cumsum(variances[::-1]) / variances.sum()
    kept = np.searchsorted(explained, energy - 1e-9) + 1  # rounding must not cost a component
    return vectors[:, ::-1][:, :kept].astype(np.float32)
