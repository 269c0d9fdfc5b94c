"""Which queries a page of examples shows, and what was retrieved for them."""

from dataclasses import dataclass

import numpy as np

from crossmodal.metrics.blocks import ScoreRows, over_blocks
from crossmodal.metrics.ranking import first_rank
from crossmodal.metrics.retrieval import Pool, same_item, shares_label

QUERIES = 10
RESULTS = 6


@dataclass(frozen=True)
class Example:
    """A query and its first results; all are rows of their pools.

    Args:
        query: Row of the query.
        pair: Row of a document of the query's item.
        results: Rows of the first documents, the best one first.
        right: Whether each of them is relevant.
        rank: Where the first relevant document stands, from 1; an expectation under ties.
    """

    query: int
    pair: int
    results: list[int]
    right: list[bool]
    rank: float


def draw_examples(
    queries: Pool, gallery: Pool, score_rows: ScoreRows, by_label: bool, seed: int
) -> dict[str, list[Example]]:
    """Draw queries at random, and failures, whose first relevant document comes last.

    Args:
        queries: What is asked.
        gallery: What is searched; has a document of each query's item.
        score_rows: Scores (rows, n) of the queries in a slice against the gallery.
        by_label: Relevant is what shares a label, instead of the item.
        seed: Draws the queries.

    Returns:
        At most `QUERIES` examples under 'random' and 'failures'.

    Raises:
        CrossmodalError: If a score is NaN.
    """
    retrieved = retrieve(queries, gallery, score_rows, by_label)
    ranks = np.where(
        np.isfinite(retrieved["rank"]), retrieved["rank"], 0
    )  # nothing to be retrieved
    drawn = np.random.default_rng(seed).permutation(len(queries))[:QUERIES]
    worst = [row for row in np.argsort(-ranks, kind="stable")[:QUERIES] if ranks[row] > 1]
    return {
        name: [example(queries, gallery, retrieved, int(row)) for row in rows]
        for name, rows in (("random", sorted(drawn)), ("failures", worst))
    }


def retrieve(
    queries: Pool, gallery: Pool, score_rows: ScoreRows, by_label: bool
) -> dict[str, np.ndarray]:
    """Return the first results of each query.

    Args:
        queries: What is asked.
        gallery: What is searched.
        score_rows: Scores (rows, n) of the queries in a slice against the gallery.
        by_label: Relevant is what shares a label, instead of the item.

    Returns:
        'results', rows of the gallery, and 'right', each (q, results), and 'rank' (q,) of the first
        relevant one.
    """
    relevance = shares_label if by_label else same_item
    count = min(RESULTS, len(gallery))

    def measure(rows: slice) -> dict[str, np.ndarray]:
        scores = score_rows(rows)
        relevant = relevance(queries, gallery, rows)
        best = np.argpartition(-scores, count - 1, axis=1)[:, :count]
        order = np.argsort(-np.take_along_axis(scores, best, 1), axis=1)
        results = np.take_along_axis(best, order, 1)
        right = np.take_along_axis(relevant, results, 1)
        return {"results": results, "right": right, "rank": first_rank(scores, relevant)}

    return over_blocks(measure, len(queries), len(gallery))


def chance(queries: Pool, gallery: Pool, by_label: bool) -> float:
    """Return the share of the gallery that is relevant to a query, on average."""
    relevance = shares_label if by_label else same_item

    def measure(rows: slice) -> dict[str, np.ndarray]:
        return {"share": relevance(queries, gallery, rows).mean(1)}

    return float(over_blocks(measure, len(queries), len(gallery))["share"].mean())


def example(queries: Pool, gallery: Pool, retrieved: dict[str, np.ndarray], row: int) -> Example:
    """Return one query with its results.

    Args:
        queries: What is asked.
        gallery: What is searched.
        retrieved: From `retrieve`.
        row: Row of the query.
    """
    return Example(
        row,
        int(np.argmax(gallery.items == queries.items[row])),
        retrieved["results"][row].tolist(),
        retrieved["right"][row].tolist(),
        float(retrieved["rank"][row]),
    )
