"""Whitening, and singular vectors of whitened cross-covariances: the solver of CCA."""

import numpy as np
import scipy.linalg


def mean_diagonal(matrix: np.ndarray) -> float:
    """Mean of the diagonal: the unit in which relative ridges are given."""
    return float(np.trace(matrix)) / len(matrix)


def whitener(covariance: np.ndarray, ridge: float) -> np.ndarray:
    """H (d, r) with H'(C + ridge I)H = I, over the r directions in which C (d, d) is not zero."""
    values, vectors = scipy.linalg.eigh(covariance)
    kept = values > len(values) * np.finfo(np.float64).eps * values[-1]
    return vectors[:, kept] / np.sqrt(values[kept] + ridge)


def canonical_directions(
    first: np.ndarray, cross: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Maps A (p, r), B (q, r) and correlations rho (r,) with A' Sxy B = diag(rho), descending.

    Args:
        first: Whitener of the first view, (p, r1).
        cross: Sxy, (p, q).
        second: Whitener of the second view, (q, r2); r is the smaller of r1 and r2.

    Returns:
        A, rho and B.
    """
    left, rho, right = np.linalg.svd(first.T @ cross @ second, full_matrices=False)
    return first @ left, rho, second @ right.T


def principal_directions(covariance: np.ndarray, energy: float) -> np.ndarray:
    """Leading eigenvectors (d, r) that together explain a share `energy` of the variance."""
    values, vectors = scipy.linalg.eigh(covariance)
    explained = np.cumsum(values[::-1]) / values.sum()
    kept = np.searchsorted(explained, energy - 1e-9) + 1  # tolerates rounding at the bound
    return vectors[:, ::-1][:, :kept]
