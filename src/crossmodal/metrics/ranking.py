"""Retrieval metrics of one block of scores, exact under ties.

Documents are ranked by decreasing score; g_r is the relevance at rank r, c_r = g_1 + ... + g_r.

    AP@all = 1/c   sum_r      (c_r / r) g_r
    AP@R   = 1/c_R sum_{r<=R} (c_r / r) g_r, 0 if c_R = 0

AP@R is divided by what was found, as CMOLRS and Corr-AE do, not by c (trec_eval). Tied documents
count as shuffled at random, and every value is the expectation over the shuffles, in closed form:
neither the order in which documents are stored nor a collapsed model can leak the ground truth.
Scores keep their precision; sums are float64.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, digamma

from crossmodal.errors import CrossmodalError


class FirstHit(NamedTuple):
    """Rank of the best relevant document of each query, by counts.

    Args:
        better: Documents scored strictly higher, (q,).
        tied: Documents with the same score, itself included, (q,).
        relevant: Relevant documents among the tied, (q,); 0 if the query has none at all.
    """

    better: np.ndarray
    tied: np.ndarray
    relevant: np.ndarray

    def rank(self, *, pessimistic: bool = False) -> np.ndarray:
        """Return the rank (q,) of the best relevant document, see `first_rank`."""
        expected = (self.tied + 1) / (self.relevant + 1)
        place = self.tied - self.relevant + 1 if pessimistic else expected
        return np.where(self.relevant > 0, self.better + place, np.inf)

    def recall_at(self, k: int) -> np.ndarray:
        """Return the probability (q,) of a relevant document among the first `k`."""
        drawn = np.arange(k)  # (k,)
        left = np.maximum(self.tied[:, None] - drawn, np.maximum(self.relevant, 1)[:, None])
        missed = 1 - self.relevant[:, None] / left  # (q, k), each draw in turn
        missed[drawn >= k - self.better[:, None]] = 1
        return 1 - missed.prod(axis=1)


def first_hit(scores: np.ndarray, relevant: np.ndarray) -> FirstHit:
    """Find the best relevant document of each query by counting, without a sort.

    Args:
        scores: Higher is better, (q, n).
        relevant: Which documents answer the query, (q, n) bool.

    Raises:
        CrossmodalError: If a score is NaN or the shapes differ.
    """
    _check(scores, relevant)
    hits = [_first_hit(*row) for row in zip(scores, relevant, strict=True)]
    return FirstHit(*np.array(hits, int).reshape(-1, 3).T)


def counts(mask: np.ndarray) -> np.ndarray:
    """Count true values (q,) in each row of (q, n)."""
    return np.array([np.count_nonzero(row) for row in mask], int)  # faster than with an axis


def first_rank(
    scores: np.ndarray, relevant: np.ndarray, *, pessimistic: bool = False
) -> np.ndarray:
    """Return the rank (q,), from 1, of the best relevant document; inf if the query has none.

    With `better` documents above and m tied, k of them relevant: the expected rank is
    better + (m + 1) / (k + 1), the pessimistic one better + m - k + 1.

    Args:
        scores: Higher is better, (q, n).
        relevant: Which documents answer the query, (q, n) bool.
        pessimistic: Tied wrong documents come first, as caption papers count, not at random.

    Raises:
        CrossmodalError: If a score is NaN or the shapes differ.
    """
    return first_hit(scores, relevant).rank(pessimistic=pessimistic)


def recall_at(k: int, scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Return the probability (q,) that at least one relevant document is among the first `k`.

    The recall@K of caption retrieval (VSE++): any of an image's captions will do.

    Args:
        k: Depth, at least 1; may exceed the number of documents.
        scores: Higher is better, (q, n).
        relevant: Which documents answer the query, (q, n) bool.

    Raises:
        CrossmodalError: If `k` is below 1, a score is NaN or the shapes differ.
    """
    _check_depth(k)
    return first_hit(scores, relevant).recall_at(k)


def precision_at(ks: Sequence[int], scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Return the expected share (q, len(ks)) of relevant documents among the first K.

    Args:
        ks: Depths, each at least 1; beyond the last document nothing more is found.
        scores: Higher is better, (q, n).
        relevant: Which documents answer the query, (q, n) bool.

    Raises:
        CrossmodalError: If a depth is below 1, a score is NaN or the shapes differ.
    """
    _check(scores, relevant)
    depths = np.asarray(ks)
    _check_depth(depths.min(initial=1))
    hits = np.zeros((len(scores), len(depths)))
    if scores.shape[1]:
        for row in range(len(scores)):
            hits[row] = expected_hits(depths, scores[row], relevant[row])
    return hits / depths


def average_precision(
    scores: np.ndarray, relevant: np.ndarray, cutoff: int | None = None
) -> np.ndarray:
    """Return AP@all, or AP@R, divided by the relevant documents retrieved; 0 where none is.

    Args:
        scores: Higher is better, (q, n).
        relevant: Which documents answer the query, (q, n) bool.
        cutoff: R, at least 1; None for AP@all.

    Returns:
        One value per query, (q,) float64.

    Raises:
        CrossmodalError: If `cutoff` is below 1, a score is NaN or the shapes differ.
    """
    _check(scores, relevant)
    depth = scores.shape[1] if cutoff is None else _check_depth(cutoff)
    value = np.zeros(len(scores))
    for row in np.flatnonzero(relevant.any(axis=1)):
        if depth >= scores.shape[1]:
            hits = scores[row][relevant[row]]
            value[row] = _precision_sum(scores[row], hits) / len(hits)
        else:
            value[row] = average_precision_at(depth, scores[row], relevant[row])
    return value


def _first_hit(scores: np.ndarray, relevant: np.ndarray) -> tuple[int, int, int]:
    """Return the fields of `FirstHit` of one query; zeros without a relevant document."""
    hits = scores[relevant]
    if not len(hits):
        return 0, 0, 0
    best = hits.max()
    better, tied, relevant_tied = (
        int(np.count_nonzero(mask)) for mask in (scores > best, scores == best, hits == best)
    )
    return better, tied, relevant_tied


def average_precision_at(
    depth: int, scores: np.ndarray, relevant: np.ndarray, divisor: int | None = None
) -> float:
    """Return AP@R of one query, R at most the number of documents.

    Args:
        depth: R.
        scores: Of the documents, (n,).
        relevant: Which of them answer the query, (n,) bool.
        divisor: Of the sum; None for the relevant documents retrieved.
    """
    cut = len(scores) - depth
    threshold = np.partition(scores, cut)[cut]
    above = np.flatnonzero(scores > threshold)
    tied = np.flatnonzero(scores == threshold)
    hits, tied_hits = above[relevant[above]], int(np.count_nonzero(relevant[tied]))
    slots = depth - len(above)  # documents of the tie group that fall inside the cut
    fewest, most = max(0, slots - len(tied) + tied_hits), min(slots, tied_hits)
    inside = np.arange(fewest, most + 1)  # relevant ones among them, hypergeometric
    group = _group_sum(len(above), len(hits), slots, inside)
    sums = _precision_sum(scores[above], scores[hits]) + group
    chance = hypergeometric(inside, len(tied), tied_hits, slots)
    return float(chance @ (sums / (divisor or np.maximum(len(hits) + inside, 1))))


def _precision_sum(scores: np.ndarray, hits: np.ndarray) -> float:
    """Return the expected sum of c_r / r over the hits, scores of relevant documents."""
    ordered, hits = np.sort(scores), np.sort(hits)  # ascending
    below = np.searchsorted(ordered, hits)  # cheaper than an argsort of all documents
    tied = np.append(ordered[1:] == ordered[:-1], False)[below]
    precision = np.arange(len(hits), 0, -1) / (len(ordered) - below)  # right where not tied
    if not tied.any():
        return precision.sum()
    levels, counts = np.unique(hits[tied], return_counts=True)
    before = len(ordered) - np.searchsorted(ordered, levels, side="right")
    hits_before = len(hits) - np.searchsorted(hits, levels, side="right")
    sizes = len(ordered) - np.searchsorted(ordered, levels) - before
    return precision[~tied].sum() + _group_sum(before, hits_before, sizes, counts).sum()


def _group_sum(
    before: np.ndarray | int,
    hits_before: np.ndarray | int,
    size: np.ndarray | int,
    hits: np.ndarray,
) -> np.ndarray:
    """Return the expected sum of c_r / r over the hits of a tie group after rank `before`.

    sum_{j=1..m} (k/m) (R0 + 1 + (j-1) (k-1)/(m-1)) / (N0 + j), m the size, k the hits.
    """
    reciprocals = digamma(before + size + 1) - digamma(before + 1)  # sum of 1 / (N0 + j)
    weighted = size - (before + 1) * reciprocals  # sum of (j - 1) / (N0 + j)
    share = (hits - 1) / np.maximum(size - 1, 1)
    return hits / size * ((hits_before + 1) * reciprocals + share * weighted)


def hypergeometric(drawn: np.ndarray, documents: int, hits: int, slots: int) -> np.ndarray:
    """Return the probability (d,) of each number of hits in `slots` draws without replacement.

    Args:
        drawn: All possible numbers, (d,).
        documents: Documents that are drawn from.
        hits: Relevant ones among them.
        slots: Draws.
    """
    wrong, missed = documents - hits, slots - drawn
    # C(n, k) is 1 / ((n + 1) B(n - k + 1, k + 1)); constants cancel.
    logarithm = -betaln(hits - drawn + 1, drawn + 1) - betaln(wrong - missed + 1, missed + 1)
    weight = np.exp(logarithm - logarithm.max())
    return weight / weight.sum()


def expected_hits(depths: np.ndarray, scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Return the expected number (k,) of hits of one query among its first K documents."""
    depths = np.minimum(depths, len(scores))
    cut = len(scores) - depths.max(initial=1)
    read = scores >= np.partition(scores, cut)[cut]  # what lies below all depths is not sorted
    ordered, hits = np.sort(scores[read]), np.sort(scores[read & relevant])  # ascending
    last = ordered[len(ordered) - depths]  # score of the document at each depth
    above, hits_above = (len(x) - np.searchsorted(x, last, side="right") for x in (ordered, hits))
    tied, hits_tied = (
        len(x) - np.searchsorted(x, last) - higher
        for x, higher in ((ordered, above), (hits, hits_above))
    )
    return hits_above + (depths - above) * hits_tied / tied


def _check(scores: np.ndarray, relevant: np.ndarray) -> None:
    if scores.shape != relevant.shape or scores.ndim != 2:
        raise CrossmodalError(
            f"scores {scores.shape} and relevance {relevant.shape} must both be "
            "(queries, documents)"
        )
    if scores.size and np.isnan(scores.max()):  # the maximum propagates NaN
        raise CrossmodalError(
            f"{np.isnan(scores).sum()} of {scores.size} scores are NaN and have no rank; "
            "look for empty inputs or a diverged model"
        )


def _check_depth(depth: int) -> int:
    if depth < 1:
        raise CrossmodalError(f"depth of a ranking is {depth}, must be at least 1")
    return depth
