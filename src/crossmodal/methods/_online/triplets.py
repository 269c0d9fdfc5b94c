"""Triplets (query, positive, negative) by shared labels, drawn when they are needed.

A list holds J triplets of one query. floor(J / 2) are strict: the positive shares a label with the
query, the negative none. The others are plain: two documents that share different numbers of labels
with the query; the one that shares more is the positive. As released, the negative of a plain
triplet may share no label either, and mostly shares none; as published, it shares one, where the
query has such pairs. With one label per item all kinds are the same: the positive is uniform in the
query's class, the negative uniform over all other classes.
"""

from typing import Literal, NamedTuple

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.methods._online.compiled import compiled

Negatives = Literal["released", "published"]

TRIES = 1000
SETS_PER_BLOCK = 1024


class Sampler(NamedTuple):
    """The labels and lists that one direction draws its triplets from; see `make_sampler`.

    Args:
        queries: Rows of the queries that have both a positive and a negative, (m,).
        documents: Rows of the documents that have a label, (n,).
        query_labels: Labels of every query row, (rows, C) bool.
        document_labels: Labels of every document row, (rows, C) bool.
        members: Document rows of label 0, then of label 1, and so on, (sum of labels,).
        offsets: Label c has `members[offsets[c]:offsets[c + 1]]`; (C + 1,).
        graded: Query rows whose plain negatives share a label, (rows,) bool.
    """

    queries: np.ndarray
    documents: np.ndarray
    query_labels: np.ndarray
    document_labels: np.ndarray
    members: np.ndarray
    offsets: np.ndarray
    graded: np.ndarray


def make_sampler(
    query_labels: np.ndarray, document_labels: np.ndarray, negatives: Negatives = "released"
) -> Sampler:
    """Prepare the drawing of triplets; rows without labels take no part.

    Args:
        query_labels: Labels of the queries, (rows, C) bool.
        document_labels: Labels of the documents, (rows, C) bool.
        negatives: Of plain triplets.

    Raises:
        CrossmodalError: If no query has both a positive and a negative.
    """
    documents = np.flatnonzero(document_labels.any(axis=1))
    usable, graded = _usable(query_labels, document_labels[documents])
    queries = np.flatnonzero(usable)
    if len(queries) == 0:
        raise CrossmodalError(
            f"no triplets: none of {len(query_labels)} queries shares a label with one document "
            "and none with another; labels of at least two kinds are needed"
        )
    members = [np.flatnonzero(column) for column in document_labels.T]
    offsets = np.cumsum([0, *map(len, members)])
    return Sampler(
        queries,
        documents,
        query_labels,
        document_labels,
        np.concatenate(members),
        offsets,
        graded & (negatives == "published"),
    )


def draws_triplets(query_labels: np.ndarray, document_labels: np.ndarray) -> bool:
    """Return whether any query has a positive and a negative; labels as for `make_sampler`."""
    return bool(_usable(query_labels, document_labels[document_labels.any(axis=1)])[0].any())


def _usable(query_labels: np.ndarray, document_labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which queries share labels with some documents only, and several numbers of them.

    Returns:
        Queries that share a label with some document and none with another, (queries,) bool; those
        that share a label with two documents, but more labels with one of them, (queries,) bool.
    """
    sets, which = np.unique(query_labels, axis=0, return_inverse=True)
    others = np.unique(document_labels, axis=0).astype(np.float32).T  # (C, distinct sets)
    usable, graded = np.zeros((2, len(sets)), bool)
    for start in range(0, len(sets), SETS_PER_BLOCK):
        block = slice(start, start + SETS_PER_BLOCK)
        counts = sets[block].astype(np.float32) @ others  # (block, distinct sets)
        most = counts.max(axis=1, initial=0)
        usable[block] = (most > 0) & (counts == 0).any(axis=1)
        graded[block] = np.where(counts > 0, counts, np.inf).min(axis=1, initial=np.inf) < most
    return usable[which], graded[which]


@compiled
def shared(left: np.ndarray, right: np.ndarray) -> int:
    """Return the number of labels that two rows have in common."""
    count = 0
    for c in range(len(left)):
        count += left[c] & right[c]
    return count


@compiled
def _draw_member(sampler: Sampler, labels: np.ndarray, rng: np.random.Generator) -> int:
    """Draw a document in proportion to the number of `labels` it has."""
    total = 0
    for c in range(len(labels)):
        if labels[c]:
            total += sampler.offsets[c + 1] - sampler.offsets[c]
    rest = rng.integers(0, total)
    for c in range(len(labels)):
        if labels[c]:
            size = sampler.offsets[c + 1] - sampler.offsets[c]
            if rest < size:
                break
            rest -= size
    return sampler.members[sampler.offsets[c] + rest]


@compiled
def draw_triplet(
    sampler: Sampler, query: int, strict: bool, rng: np.random.Generator
) -> tuple[int, int]:
    """Draw a positive and a negative, uniformly over all such pairs of documents.

    One of the two shares a label, so it is drawn from the label's lists; the other is any document.

    Args:
        sampler: Labels and lists of the direction.
        query: Row of the query.
        strict: The negative shares no label, instead of fewer labels than the positive; of a
            `graded` query, fewer and at least one.
        rng: Moves on by a few draws.

    Returns:
        (-1, -1) if `TRIES` draws found none.
    """
    labels = sampler.query_labels[query]
    for _ in range(TRIES):
        first = _draw_member(sampler, labels, rng)
        second = sampler.documents[rng.integers(0, len(sampler.documents))]
        more = shared(labels, sampler.document_labels[first])
        less = shared(labels, sampler.document_labels[second])
        # undo the weights: `first` was on `more` lists, so accept it once in `more` times
        if rng.random() * more >= 1:
            continue
        if less == 0:
            if not strict and sampler.graded[query]:
                continue
            return first, second
        # a pair in which both share a label is reached in two orders, so accept every other one
        if not strict and more != less and rng.random() < 0.5:
            return (first, second) if more > less else (second, first)
    return -1, -1


@compiled
def draw_list(
    sampler: Sampler, step: int, rng: np.random.Generator, pairs: np.ndarray
) -> tuple[int, int]:
    """Draw a query and fill in its list of triplets.

    Args:
        sampler: Labels and lists of the direction.
        step: Number of the list; lists of a single triplet are plain and strict in turn.
        rng: Moves on.
        pairs: Receives rows of positives and negatives, (J, 2) int64.

    Returns:
        Row of the query, and how many triplets were drawn; the rest of `pairs` is undefined.
    """
    length = len(pairs)
    strict = length // 2 if length > 1 else step % 2
    query = sampler.queries[rng.integers(0, len(sampler.queries))]
    drawn = 0
    for j in range(length):
        positive, negative = draw_triplet(sampler, query, j < strict, rng)
        if positive >= 0:
            pairs[drawn, 0], pairs[drawn, 1] = positive, negative
            drawn += 1
    return query, drawn
