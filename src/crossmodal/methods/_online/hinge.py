"""Triplet hinge with a margin that depends on the pair of documents.

    loss = max(0, margin - (s(x, d+) - s(x, d-)))
    margin = base + beta * (alpha * |d+ - d-|_2 + (1 - alpha) * |z+ - z-|_1)

with document features d and 0/1 label vectors z, for a bilinear score s(x, d) = x' W d.

Source: Wu, Wang, Huang, Online fast adaptive low-rank similarity learning for cross-modal
retrieval, IEEE TMM 22(5), 2020, equations 4 and 5; the feature distance is not squared. The base is
0 there; with beta = 0 it is the fixed margin of table VI.
"""

from typing import NamedTuple

import numpy as np

from crossmodal.methods._online.compiled import compiled, dot


class Margin(NamedTuple):
    """Options of the margin.

    Args:
        scale: beta >= 0.
        feature_weight: alpha, 0 to 1: share of the feature distance.
        base: The part that is the same for all pairs, >= 0.
    """

    scale: float
    feature_weight: float
    base: float


@compiled
def adaptive_margin(
    difference: np.ndarray, plus: np.ndarray, minus: np.ndarray, margin: Margin
) -> float:
    """Return the margin of two documents.

    Args:
        difference: Features of the positive less those of the negative, (d,).
        plus: Labels of the positive, (C,) bool.
        minus: Labels of the negative, (C,) bool.
        margin: Its options.
    """
    unlike = 0
    for c in range(len(plus)):
        unlike += plus[c] ^ minus[c]
    features = np.sqrt(dot(difference, difference))
    distance = margin.feature_weight * features + (1 - margin.feature_weight) * unlike
    return margin.base + margin.scale * distance


@compiled
def list_hinge(
    towards: np.ndarray,
    documents: np.ndarray,
    labels: np.ndarray,
    pairs: np.ndarray,
    margin: Margin,
    ascent: np.ndarray,
) -> tuple[float, int]:
    """Return the loss of the triplets of one query.

    Args:
        towards: W' x of the query, (d,): the score of a document is its inner product with this.
        documents: Features, (n, d).
        labels: Labels of the documents, (n, C) bool.
        pairs: Rows of positives and negatives, (J, 2).
        margin: Options of the margin.
        ascent: Receives the sum of d+ - d- over the violating triplets, (d,).

    Returns:
        Sum of the losses, number of violating triplets.
    """
    loss, violating = 0.0, 0
    ascent[:] = 0
    for plus, minus in pairs:
        difference = documents[plus] - documents[minus]
        wanted = adaptive_margin(difference, labels[plus], labels[minus], margin)
        gap = dot(towards, difference)
        if gap < wanted:
            loss += wanted - gap
            violating += 1
            ascent += difference
    return loss, violating
