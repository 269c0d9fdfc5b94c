"""How similar pairs are, and how similar all others, in the mean."""

import numpy as np

from crossmodal.metrics.retrieval import Pool, Score, over_blocks, same_item


def mean_scores(queries: Pool, gallery: Pool, score: Score) -> tuple[float, float]:
    """Mean score of the pairs, which belong to one item, and of all other pairs of rows; 0 of none.

    Args:
        queries: One side.
        gallery: The other.
        score: Scores (q, n) of some queries' embeddings against the gallery's.
    """

    def measure(rows: slice) -> dict[str, np.ndarray]:
        scores = score(queries.embeddings[rows], gallery.embeddings)
        own = same_item(queries, gallery, rows)
        pairs = (scores * own).sum(1, dtype=np.float64)
        others = scores.sum(1, dtype=np.float64) - pairs
        return {"pairs": pairs, "others": others, "count": np.count_nonzero(own, axis=1)}

    sums = {k: v.sum() for k, v in over_blocks(measure, len(queries), len(gallery)).items()}
    counts = {"pairs": sums["count"], "others": len(queries) * len(gallery) - sums["count"]}
    return tuple(float(sums[kind] / max(count, 1)) for kind, count in counts.items())
