"""Intra-modal retrieval: the query is itself part of the gallery."""

from collections.abc import Sequence

import numpy as np

from crossmodal.metrics.blocks import BLOCK_BYTES, ScoreRows, over_scores
from crossmodal.metrics.controls import scorers
from crossmodal.metrics.ranking import average_precision
from crossmodal.metrics.retrieval import Pool, same_item, shares_label

CUTOFFS = (50,)  # R of each mAP@R


def intra_modal(
    pool: Pool,
    score_rows: ScoreRows,
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    block_bytes: int = BLOCK_BYTES,
) -> dict[str, float]:
    """Metrics of every row as a query among the rows of all other items.

    Rows of the query's own item stand last and are not relevant, which leaves them out exactly.

    Args:
        pool: Queries and gallery, with labels.
        score_rows: Scores (rows, n) of the queries in a slice against the pool.
        cutoffs: R of each mAP@R.
        block_bytes: See `over_scores`.

    Returns:
        'mAP' and 'mAP@R' in 0..1, 'queries' and 'gallery'.

    Raises:
        CrossmodalError: If a score is NaN.
    """

    values = _per_row(pool, score_rows, cutoffs, block_bytes)
    metrics = {name: float(value.mean()) for name, value in values.items()}
    return metrics | {"queries": float(len(pool)), "gallery": float(len(pool))}


def spread_of_chance(pool: Pool) -> dict[str, float]:
    """Standard errors of random scores' mAP and mAP@50, as means over this many rows.

    Args:
        pool: See `intra_modal`.
    """
    values = _per_row(pool, scorers(pool, pool, seed=0)["random"])
    return {name: float(v.std() / len(v) ** 0.5) for name, v in values.items()}


def _per_row(
    pool: Pool,
    score_rows: ScoreRows,
    cutoffs: Sequence[int] = CUTOFFS,
    block_bytes: int = BLOCK_BYTES,
) -> dict[str, np.ndarray]:
    """Metrics (n,) of each row; see `intra_modal`."""

    def measure(rows: slice, scores: np.ndarray) -> dict[str, np.ndarray]:
        own = same_item(pool, pool, rows)
        scores = np.where(own, -np.inf, scores)
        relevant = shares_label(pool, pool, rows) & ~own
        values = {"mAP": average_precision(scores, relevant)}
        return values | {f"mAP@{r}": average_precision(scores, relevant, r) for r in cutoffs}

    return over_scores(measure, score_rows, len(pool), len(pool), block_bytes=block_bytes)
