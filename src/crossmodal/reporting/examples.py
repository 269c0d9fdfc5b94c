"""Which queries a page of examples shows, and what was retrieved for them."""

from dataclasses import dataclass

import numpy as np

from crossmodal.learning.method import Direction
from crossmodal.metrics.blocks import over_blocks
from crossmodal.metrics.ranking import first_rank
from crossmodal.metrics.retrieval import Pool, same_item, shares_label
from crossmodal.models.embedding_file import Embedded

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


@dataclass(frozen=True)
class Retrieved:
    """First results of each test query of a direction.

    Args:
        queries: What was asked.
        gallery: What was searched; has a document of each query's item.
        results: Rows of the first documents, the best one first, (q, k).
        right: Whether each of them is relevant, (q, k).
        rank: Where the first relevant document stands, (q,); see `first_rank`.
    """

    queries: Pool
    gallery: Pool
    results: np.ndarray
    right: np.ndarray
    rank: np.ndarray

    def example(self, row: int) -> Example:
        """Return one query with its results."""
        return Example(
            row,
            int(np.argmax(self.gallery.items == self.queries.items[row])),
            self.results[row].tolist(),
            self.right[row].tolist(),
            float(self.rank[row]),
        )


def draw_examples(retrieved: Retrieved, seed: int) -> dict[str, list[Example]]:
    """Draw queries at random, and failures, whose first relevant document comes last.

    Returns:
        At most `QUERIES` examples under 'random' and 'failures'.
    """
    ranks = np.where(np.isfinite(retrieved.rank), retrieved.rank, 0)  # nothing to be retrieved
    drawn = np.random.default_rng(seed).permutation(len(ranks))[:QUERIES]
    worst = [row for row in np.argsort(-ranks, kind="stable")[:QUERIES] if ranks[row] > 1]
    return {
        name: [retrieved.example(int(row)) for row in rows]
        for name, rows in (("random", sorted(drawn)), ("failures", worst))
    }


def retrieve(model: Embedded, direction: Direction) -> Retrieved:
    """Return the first results of each test query.

    Raises:
        CrossmodalError: If a score is NaN.
    """
    queries, gallery = model.pools("test", direction)
    score_rows, count = model.scorer("test", *direction), min(RESULTS, len(gallery))
    relevance = shares_label if model.by_label else same_item

    def measure(rows: slice) -> dict[str, np.ndarray]:
        scores = score_rows(rows)
        relevant = relevance(queries, gallery, rows)
        best = np.argpartition(-scores, count - 1, axis=1)[:, :count]
        order = np.argsort(-np.take_along_axis(scores, best, 1), axis=1)
        results = np.take_along_axis(best, order, 1)
        right = np.take_along_axis(relevant, results, 1)
        return {"results": results, "right": right, "rank": first_rank(scores, relevant)}

    return Retrieved(queries, gallery, **over_blocks(measure, len(queries), len(gallery)))


def chance(model: Embedded, direction: Direction) -> float:
    """Return the share of the gallery that is relevant to a test query, on average."""
    queries, gallery = model.pools("test", direction)
    relevance = shares_label if model.by_label else same_item

    def measure(rows: slice) -> dict[str, np.ndarray]:
        return {"share": relevance(queries, gallery, rows).mean(1)}

    return float(over_blocks(measure, len(queries), len(gallery))["share"].mean())
