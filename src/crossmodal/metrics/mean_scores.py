"""Mean similarity of the pairs, and of all others."""

import numpy as np

from crossmodal.metrics.blocks import over_blocks
from crossmodal.metrics.ranking import counts
from crossmodal.metrics.retrieval import Pool, same_item


def mean_scores(queries: Pool, gallery: Pool, scores: np.ndarray) -> tuple[float, float]:
    """Return the mean score of pairs, which belong to one item, and of others; 0 where none is.

    Args:
        queries: One side.
        gallery: The other.
        scores: Scores (q, n) of the queries against the gallery.
    """

    def measure(rows: slice) -> dict[str, np.ndarray]:
        own = same_item(queries, gallery, rows)
        pairs = (scores[rows] * own).sum(1, dtype=np.float64)
        others = scores[rows].sum(1, dtype=np.float64) - pairs
        return {"pairs": pairs, "others": others, "count": counts(own)}

    blocks = over_blocks(measure, len(queries), len(gallery))
    pairs, others, count = (blocks[name].sum() for name in ("pairs", "others", "count"))
    left = len(queries) * len(gallery) - count
    return float(pairs / max(count, 1)), float(others / max(left, 1))
