"""Further metrics of one block of scores, exact under ties as those of `ranking`.

Documents are ranked by decreasing score; g_r is the grade at rank r, c_r the number of relevant
documents, those of a grade above 0, among the first r, and R that of all.

    nDCG@k      = sum_{r<=k} g_r / log2(r + 1), divided by that of the best order
    RR          = 1 / rank of the first relevant document
    R-precision = c_R / R
    AP@R        = 1/R sum_{r<=R} (c_r / r) [g_r > 0], of Musgrave et al. 2020
"""

import numpy as np
from scipy.special import betaln

from crossmodal.errors import CrossmodalError
from crossmodal.metrics.ranking import FirstHit, average_precision_at, expected_hits


def ndcg_at(k: int, scores: np.ndarray, grades: np.ndarray) -> np.ndarray:
    """Return nDCG@k (q,); 0 for queries without a relevant document.

    Args:
        k: Depth, at least 1.
        scores: Higher is better, (q, n).
        grades: Relevance, 0 or above, (q, n).

    Raises:
        CrossmodalError: If a grade is negative, infinite or no number.
    """
    wrong = grades[~((grades >= 0) & (grades < np.inf))]
    if wrong.size:
        raise CrossmodalError(f"a grade of relevance is {wrong[0]}; give 0 or above")
    rows = zip(scores, grades, strict=True)
    return np.array([_ndcg(min(k, scores.shape[1]), *row) for row in rows], float)


def reciprocal_rank(hit: FirstHit) -> np.ndarray:
    """Return the expected 1 / rank (q,) of the first relevant document; 0 where there is none."""
    value = np.where(hit.relevant > 0, 1.0 / (hit.better + 1), 0.0)
    for row in np.flatnonzero((hit.relevant > 0) & (hit.tied > hit.relevant)):
        value[row] = _reciprocal(*(int(part[row]) for part in hit))
    return value


def r_precision(scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Return R-precision (q,); 0 for queries without a relevant document."""
    value = np.zeros(len(scores))
    for row, count in enumerate(np.count_nonzero(relevant, axis=1).tolist()):
        if count:
            hits = expected_hits(np.array([count]), scores[row], relevant[row])
            value[row] = hits[0] / count
    return value


def average_precision_at_r(scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Return AP@R (q,), R the relevant documents of a query; 0 where there are none."""
    value = np.zeros(len(scores))
    for row, count in enumerate(np.count_nonzero(relevant, axis=1).tolist()):
        if count:
            value[row] = average_precision_at(count, scores[row], relevant[row], divisor=count)
    return value


def _ndcg(depth: int, scores: np.ndarray, grades: np.ndarray) -> float:
    cut = len(scores) - depth
    discounts = 1 / np.log2(np.arange(depth) + 2)
    best = np.sort(np.partition(grades, cut)[cut:])[::-1] @ discounts
    if best <= 0:
        return 0.0
    read = np.flatnonzero(scores >= np.partition(scores, cut)[cut])
    # ascending, since minus a score is none where scores are whole numbers without a sign
    _, ties, counts = np.unique(scores[read], return_inverse=True, return_counts=True)
    # at each rank of a tie the mean grade of those tied
    means = np.bincount(ties, grades[read]) / counts
    return float(np.repeat(means[::-1], counts[::-1])[:depth] @ discounts / best)


def _reciprocal(better: int, tied: int, relevant: int) -> float:
    """Return the expected 1 / rank, `better` documents above, `relevant` of the tied ones hits."""
    place = np.arange(1, tied - relevant + 2)  # of the first hit among the tied
    # C(tied - place, relevant - 1), by the beta function; constants cancel
    logarithm = -np.log(tied - place + 1) - betaln(tied - place - relevant + 2, relevant)
    chance = np.exp(logarithm - logarithm.max())
    return float(chance @ (1 / (better + place)) / chance.sum())
