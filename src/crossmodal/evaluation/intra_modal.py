"""Retrieval within one modality, where the query is itself part of the gallery."""

from collections.abc import Sequence

import numpy as np

from crossmodal.evaluation.metrics import average_precision
from crossmodal.evaluation.retrieval import (
    BLOCK_BYTES,
    Pool,
    ScoreRows,
    over_blocks,
    same_item,
    shares_label,
)


def intra_modal(
    pool: Pool,
    score_rows: ScoreRows,
    *,
    cutoffs: Sequence[int] = (50,),
    block_bytes: int = BLOCK_BYTES,
) -> dict[str, float]:
    """Metrics of every row as a query among the rows of all other items.

    Rows of the query's own item stand last and are not relevant, which leaves them out exactly.

    Args:
        pool: Queries and gallery, with labels.
        score_rows: Scores (rows, n) of the queries in a slice against the pool.
        cutoffs: R of each mAP@R.
        block_bytes: See `over_blocks`.

    Returns:
        'mAP' and 'mAP@R' in 0..1, 'queries' and 'gallery'.

    Raises:
        CrossmodalError: If a score is NaN.
    """

    def measure(rows: slice) -> dict[str, np.ndarray]:
        own = same_item(pool, pool, rows)
        scores = np.where(own, -np.inf, score_rows(rows))
        relevant = shares_label(pool, pool, rows) & ~own
        values = {"mAP": average_precision(scores, relevant)}
        return values | {f"mAP@{r}": average_precision(scores, relevant, r) for r in cutoffs}

    values = over_blocks(measure, len(pool), len(pool), block_bytes=block_bytes)
    metrics = {name: float(value.mean()) for name, value in values.items()}
    return metrics | {"queries": float(len(pool)), "gallery": float(len(pool))}
