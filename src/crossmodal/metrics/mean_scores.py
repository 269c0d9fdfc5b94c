"""How similar pairs are, and how similar all others, in the mean."""

import numpy as np

from crossmodal.metrics.blocks import over_scores
from crossmodal.metrics.ranking import counts
from crossmodal.metrics.retrieval import Pool, Score, same_item


def mean_scores(queries: Pool, gallery: Pool, score: Score) -> tuple[float, float]:
    """Mean score of the pairs, which belong to one item, and of all other pairs of rows; 0 of none.

    Args:
        queries: One side.
        gallery: The other.
        score: Scores (q, n) of some queries' embeddings against the gallery's.
    """

    def score_rows(rows: slice) -> np.ndarray:
        return score(queries.embeddings[rows], gallery.embeddings)

    def measure(rows: slice, scores: np.ndarray) -> dict[str, np.ndarray]:
        own = same_item(queries, gallery, rows)
        pairs = (scores * own).sum(1, dtype=np.float64)
        others = scores.sum(1, dtype=np.float64) - pairs
        return {"pairs": pairs, "others": others, "count": counts(own)}

    found = over_scores(measure, score_rows, len(queries), len(gallery))
    sums = {name: values.sum() for name, values in found.items()}
    rows = {"pairs": sums["count"], "others": len(queries) * len(gallery) - sums["count"]}
    return tuple(float(sums[kind] / max(count, 1)) for kind, count in rows.items())
