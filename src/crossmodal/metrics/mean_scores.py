"""How similar pairs are, and how similar all others, in the mean."""

import numpy as np

from crossmodal.metrics.blocks import over_blocks
from crossmodal.metrics.ranking import counts
from crossmodal.metrics.retrieval import Pool, same_item


def mean_scores(queries: Pool, gallery: Pool, scores: np.ndarray) -> tuple[float, float]:
    """Mean score of the pairs, which belong to one item, and of all other pairs of rows; 0 of none.

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

    found = over_blocks(measure, len(queries), len(gallery))
    sums = {name: values.sum() for name, values in found.items()}
    rows = {"pairs": sums["count"], "others": len(queries) * len(gallery) - sums["count"]}
    return tuple(float(sums[kind] / max(count, 1)) for kind, count in rows.items())
