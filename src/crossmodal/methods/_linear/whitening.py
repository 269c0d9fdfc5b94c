"""Whitening, and singular vectors of whitened cross-covariances: the solver of CCA."""

import numpy as np
import scipy.linalg


def mean_diagonal(matrix: np.ndarray) -> float:
    """Return the mean of the diagonal, the unit of relative ridges."""
    return float(np.trace(matrix)) / len(matrix)


def whitener(covariance: np.ndarray, ridge: float) -> np.ndarray:
    """Return H (d, r) with H'(C + ridge I)H = I, in the r directions where C (d, d) is not 0."""
    values, vectors = scipy.linalg.eigh(covariance)
    nonzero = values > len(values) * np.finfo(np.float64).eps * values[-1]
    return vectors[:, nonzero] / np.sqrt(values[nonzero] + ridge)


def canonical_directions(
    first: np.ndarray, cross: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solve for A (p, r), B (q, r) and correlations rho (r,) with A' Sxy B = diag(rho), descending.

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
    """Return the leading eigenvectors (d, r) that explain a share `energy` of the variance."""
    values, vectors = scipy.linalg.eigh(covariance)
    explained = np.cumsum(values[::-1]) / values.sum()
    rank = np.searchsorted(explained, energy - 1e-9) + 1  # tolerates rounding at the bound
    return vectors[:, ::-1][:, :rank]
