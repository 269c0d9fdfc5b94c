"""Standard errors of the metrics of random scores, in closed form.

The average precision of one query is a quadratic form of its relevance g_r at each rank,

    c AP = sum_r g_r / r + sum_{s<r} g_s g_r / r,

whose second moment needs no more than the probability that 1, 2, 3 or 4 ranks are all relevant.
"""

from functools import cache

import numpy as np

from crossmodal.metrics.ranking import FirstHit, hypergeometric


def recall_error(relevant: np.ndarray, documents: int, depth: int) -> float:
    """Return the standard error of recall@K, in 0..1.

    Args:
        relevant: Documents that answer each query, (q,).
        documents: Documents that are ranked.
        depth: K.
    """
    none_better = np.zeros_like(relevant)
    hit = FirstHit(none_better, none_better + documents, relevant).recall_at(depth)
    return float(np.sqrt((hit * (1 - hit)).sum()) / len(relevant))


def precision_error(
    relevant: np.ndarray, documents: np.ndarray, cutoff: int | None = None
) -> float:
    """Return the standard error of the mean average precision, AP@all or AP@R.

    Args:
        relevant: Documents that answer each query, (q,).
        documents: Documents that are ranked for each query, (q,).
        cutoff: R; None for AP@all.
    """
    kinds, counts = np.unique(np.stack([relevant, documents]), axis=1, return_counts=True)
    variances = [_variance(int(c), int(n), cutoff) for c, n in kinds.T]
    return float(np.sqrt(counts @ variances) / len(relevant))


def _variance(relevant: int, documents: int, cutoff: int | None) -> float:
    """Return the variance of the average precision of one query."""
    if cutoff is None or cutoff >= documents:
        hits, depth, chance = np.array([relevant]), documents, np.ones(1)
    else:
        fewest, most = max(0, cutoff - documents + relevant), min(cutoff, relevant)
        hits, depth = np.arange(fewest, most + 1), cutoff
        chance = hypergeometric(hits, documents, relevant, cutoff)
    first, second = _moments(hits, depth)
    return max(0.0, float(chance @ second - (chance @ first) ** 2))


def _moments(hits: np.ndarray, ranks: int) -> tuple[np.ndarray, np.ndarray]:
    """Return first and second moment (h,) of the average precision by the hits among the ranks."""
    # probability that 1, 2, 3, 4 given ranks are all relevant
    factors = [np.maximum(hits - i, 0) / max(ranks - i, 1) for i in range(4)]
    together = np.cumprod(factors, axis=0)
    first, second = _sums(ranks)
    divisor = np.maximum(hits, 1)
    return first @ together / divisor, second @ together / divisor**2


@cache
def _sums(ranks: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients (4,) of both moments, by how many different ranks a product reads."""
    below = np.arange(ranks, dtype=float)
    w = 1 / (below + 1)
    total, tail = w.sum(), w.sum() - np.cumsum(w)  # tail: of the ranks further down
    pairs, squares, same = w @ below, w @ w, w**2 @ below
    touching = same + w @ tail  # a rank, and a pair that contains it
    # two pairs that share their upper rank, a rank between, their lower rank
    chained = w**2 @ (below * (below - 1)) + 2 * (w * below) @ tail + tail @ tail - same
    disjoint = pairs**2 - same - chained
    linear = np.array([squares, total**2 - squares, 0, 0])
    mixed = np.array([0, touching, total * pairs - touching, 0])
    return np.array([total, pairs, 0, 0]), linear + 2 * mixed + [0, same, chained, disjoint]
