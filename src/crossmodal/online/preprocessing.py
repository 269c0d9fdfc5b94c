"""Scaling of features before online learning: standardise, rows of unit length, optionally PCA.

Everything is fitted on training rows. The projection is applied without centring once more.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches

from crossmodal.evaluation.retrieval import unit_rows

Normalise = Literal["zscore-l2", "centre-l2"]
ROWS_PER_BLOCK = 4096


def fit_preprocessing(
    features: np.ndarray, normalise: Normalise, pca_energy: float | None
) -> dict[str, np.ndarray]:
    """Statistics of one modality.

    Args:
        features: Training rows, (n, d).
        normalise: 'zscore-l2': zero mean and unit variance, then rows of unit length;
            'centre-l2': zero mean, then rows of unit length.
        pca_energy: Share of the variance that the kept components explain, (0, 1]; None: no PCA.

    Returns:
        'mean' and 'scale', (d,), and with PCA 'components', (d, kept).
    """
    scaler = StandardScaler(with_std=normalise == "zscore-l2")
    for rows in gen_batches(len(features), ROWS_PER_BLOCK):
        scaler.partial_fit(features[rows])
    scale = scaler.scale_ if scaler.with_std else np.ones_like(scaler.mean_)
    statistics = {"mean": scaler.mean_.astype(np.float32), "scale": scale.astype(np.float32)}
    if pca_energy is not None:
        statistics["components"] = _components(features, statistics, pca_energy)
    return statistics


def preprocess(features: np.ndarray, statistics: dict[str, np.ndarray]) -> np.ndarray:
    """Rows as the online methods learn from them, (n, d') float32; zero rows stay zero.

    Args:
        features: Rows of the modality, (n, d).
        statistics: What `fit_preprocessing` returned for it.
    """
    blocks = _normalised(features, statistics)
    if "components" in statistics:
        blocks = (block @ statistics["components"] for block in blocks)  # (rows, kept)
    return np.concatenate(list(blocks))


def _normalised(features: np.ndarray, statistics: dict[str, np.ndarray]) -> Iterator[np.ndarray]:
    """Standardised rows of unit length, (rows, d), block by block."""
    for rows in gen_batches(len(features), ROWS_PER_BLOCK):
        block = features[rows].astype(np.float32)
        yield unit_rows((block - statistics["mean"]) / statistics["scale"])


def _components(
    features: np.ndarray, statistics: dict[str, np.ndarray], energy: float
) -> np.ndarray:
    """Leading eigenvectors (d, kept) of the normalised rows' covariance."""
    width = features.shape[1]
    total, products = np.zeros(width), np.zeros((width, width))
    for block in _normalised(features, statistics):
        total += block.sum(axis=0)
        products += block.T @ block
    mean = total / len(features)
    variances, vectors = np.linalg.eigh(products / len(features) - np.outer(mean, mean))
    explained = np.cumsum(variances[::-1]) / variances.sum()
    kept = np.searchsorted(explained, energy - 1e-9) + 1  # rounding must not cost a component
    return vectors[:, ::-1][:, :kept].astype(np.float32)
