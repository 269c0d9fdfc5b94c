"""Intra-modal retrieval: the query is itself part of the gallery."""

from collections.abc import Mapping, Sequence

import numpy as np

from crossmodal.metrics.blocks import BLOCK_BYTES, ScoreRows, over_scores
from crossmodal.metrics.random_ranking import precision_error
from crossmodal.metrics.ranking import average_precision, counts
from crossmodal.metrics.retrieval import Pool, same_item, shares_label

CUTOFFS = (50,)  # R of each AP@R


def per_row(
    pool: Pool,
    score_rows: ScoreRows,
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    block_bytes: int = BLOCK_BYTES,
) -> dict[str, np.ndarray]:
    """Return the metrics of every row as a query among the rows of all other items.

    Rows of the query's own item stand last and are not relevant, which leaves them out exactly.

    Args:
        pool: Queries and gallery, with labels.
        score_rows: Scores (rows, n) of the queries in a slice against the pool.
        cutoffs: R of each AP@R.
        block_bytes: See `over_scores`.

    Returns:
        'AP', 'AP@R', 'relevant', the number of documents sharing a label, and 'own', the number of
        rows left out, each (n,).

    Raises:
        CrossmodalError: If a score is NaN.
    """

    def measure(rows: slice, scores: np.ndarray) -> dict[str, np.ndarray]:
        own = same_item(pool, pool, rows)
        scores = np.where(own, -np.inf, scores)
        relevant = shares_label(pool, pool, rows) & ~own
        values = {"AP": average_precision(scores, relevant)}
        values |= {f"AP@{r}": average_precision(scores, relevant, r) for r in cutoffs}
        return values | {"relevant": counts(relevant), "own": counts(own)}

    return over_scores(measure, score_rows, len(pool), len(pool), block_bytes=block_bytes)


def summary(values: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return means over rows: 'mAP' and 'mAP@R' in 0..1, 'queries' and 'gallery'.

    Args:
        values: From `per_row`.
    """
    metrics = {f"m{name}": float(v.mean()) for name, v in values.items() if name.startswith("AP")}
    rows = float(len(values["AP"]))
    return metrics | {"queries": rows, "gallery": rows}


def spread_of_chance(values: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return the standard errors of random scores' mAP and mAP@R, as means over this many rows.

    Args:
        values: From `per_row`, of any scores.
    """
    relevant, documents = values["relevant"], len(values["own"]) - values["own"]
    errors = {f"mAP@{r}": precision_error(relevant, documents, r) for r in CUTOFFS}
    return {"mAP": precision_error(relevant, documents)} | errors
