"""Mixtures of Gaussians, and hybrid ones of Gaussians and Laplacians, by EM (Klein et al. 2015).

    p(x) = sum_k w_k prod_d f_kd(x_d),   f_kd normal with mean c_kd and standard deviation s_kd or,
                                         in a hybrid, Laplacian with median c_kd and scale s_kd,

whichever is more likely.

Source: B. Klein, G. Lev, G. Sadeh and L. Wolf, Associating neural word embeddings with deep image
representations using Fisher vectors, CVPR 2015, sections 3 and 4.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp
from sklearn.cluster import KMeans

FLOOR = 0.01  # smallest s, in standard deviations of the column
TOLERANCE = 1e-5  # of the mean log-likelihood


@dataclass(frozen=True)
class Mixture:
    """A mixture of K components in d dimensions.

    Args:
        weights: w (K,).
        centres: c (K, d).
        scales: s (K, d).
        laplacian: (K, d) bool, false for normal densities.
    """

    weights: np.ndarray
    centres: np.ndarray
    scales: np.ndarray
    laplacian: np.ndarray

    def log_densities(self, x: np.ndarray) -> np.ndarray:
        """Return ln w_k + sum_d ln f_kd of rows x (n, d), (n, K)."""
        parts = zip(self.weights, self.centres, self.scales, self.laplacian, strict=True)
        return np.stack([np.log(w) + _log_density(x, c, s, kind) for w, c, s, kind in parts], 1)

    def responsibilities(self, x: np.ndarray) -> np.ndarray:
        """Return g_k = p(k | x) of rows x (n, d), (n, K)."""
        densities = self.log_densities(x)
        return np.exp(densities - logsumexp(densities, axis=1, keepdims=True))

    def gradients(self, x: np.ndarray) -> np.ndarray:
        """Return the gradient of ln p by centres and by scales, in units of its standard deviation.

        With z = (x - c) / s, of a normal and of a Laplacian density

            g_k / w_k^(1/2) [z, (z^2 - 1) / 2^(1/2)],    g_k / w_k^(1/2) [sgn z, |z| - 1].

        Args:
            x: Rows (n, d).

        Returns:
            (n, 2 K d).
        """
        z = (x[:, None] - self.centres) / self.scales  # (n, K, d)
        centres = np.where(self.laplacian, np.sign(z), z)
        scales = np.where(self.laplacian, np.abs(z) - 1, (z**2 - 1) / 2**0.5)
        weight = self.responsibilities(x) / self.weights**0.5
        return np.concatenate([weight[..., None] * part for part in (centres, scales)], 2).reshape(
            len(x), -1
        )


def fit_mixture(
    x: np.ndarray, components: int, hybrid: bool, iterations: int, seed: int
) -> Mixture:
    """Return the most likely mixture that EM finds, from clusters of k-means.

    Args:
        x: Rows (n, d).
        components: K.
        hybrid: Whether densities may be Laplacian.
        iterations: Largest number of steps; fewer once the mean log-likelihood hardly grows.
        seed: Of k-means.
    """
    clusters = KMeans(components, n_init=1, random_state=seed).fit(x)
    shares = np.eye(components)[clusters.labels_]  # (n, K)
    mixture = maximise(x, shares, hybrid)
    before = log_likelihood(mixture, x)
    for _ in range(iterations):
        mixture = maximise(x, mixture.responsibilities(x), hybrid)
        after = log_likelihood(mixture, x)
        if after - before < TOLERANCE:
            break
        before = after
    return mixture


def log_likelihood(mixture: Mixture, x: np.ndarray) -> float:
    """Return the mean of ln p over all rows."""
    return float(logsumexp(mixture.log_densities(x), axis=1).mean())


def maximise(x: np.ndarray, shares: np.ndarray, hybrid: bool) -> Mixture:
    """Return the most likely mixture for responsibilities (n, K): the M step."""
    totals = shares.sum(0).clip(min=1e-10)
    floor = FLOOR * x.std(0) + 1e-12
    order = np.argsort(x, axis=0)
    fitted = [_fit(x, order, w / t, floor, hybrid) for w, t in zip(shares.T, totals, strict=True)]
    centres, scales, laplacian = (np.stack(part) for part in zip(*fitted, strict=True))
    return Mixture(totals / totals.sum(), centres, scales, laplacian)


def _fit(
    x: np.ndarray, order: np.ndarray, weights: np.ndarray, floor: np.ndarray, hybrid: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return c, s and kind (d,) of a component, by weighted moments or medians of columns."""
    mean = weights @ x
    deviation = np.maximum((weights @ (x - mean) ** 2) ** 0.5, floor)
    normal = np.zeros(x.shape[1], bool)
    if not hybrid:
        return mean, deviation, normal
    reached = weights[order].cumsum(0) >= weights.sum() / 2
    median = np.take_along_axis(x, np.take_along_axis(order, reached.argmax(0)[None], 0), 0)[0]
    spread = np.maximum(weights @ np.abs(x - median), floor)
    by_kind = [
        weights @ _log_terms(x, c, s, kind)
        for c, s, kind in ((mean, deviation, normal), (median, spread, ~normal))
    ]
    kind = by_kind[1] > by_kind[0]
    return np.where(kind, median, mean), np.where(kind, spread, deviation), kind


def _log_density(x: np.ndarray, c: np.ndarray, s: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Return sum_d ln f_d of one component, (n,)."""
    return _log_terms(x, c, s, kind).sum(1)


def _log_terms(x: np.ndarray, c: np.ndarray, s: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Return ln f_d (n, d)."""
    z = np.abs(x - c) / s
    return np.where(kind, -z - np.log(2 * s), -(z**2) / 2 - np.log(s * (2 * np.pi) ** 0.5))
