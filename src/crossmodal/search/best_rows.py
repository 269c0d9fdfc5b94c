"""The best rows of a gallery for each query, exactly, in blocks of bounded memory."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from crossmodal.errors import CrossmodalError

BLOCK_BYTES = 64 * 2**20

ScoreBlock = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Best:
    """The best rows of a gallery for each query, and how the scores of all rows are spread.

    Args:
        rows: Best first, (q, k).
        scores: Theirs, (q, k).
        mean: Of the scores of all rows, (q,).
        deviation: Standard deviation of the scores of all rows, (q,).
    """

    rows: np.ndarray
    scores: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray


def best_rows(
    score: ScoreBlock,
    gallery: np.ndarray,
    count: int,
    *,
    threads: int = 1,
    block_bytes: int = BLOCK_BYTES,
) -> Best:
    """Return the rows of the highest scores; equal ones are in the order of the gallery.

    Args:
        score: Scores (q, b) of all queries against a block (b, ...) of the gallery.
        gallery: All rows, (n, ...), which may be memory-mapped.
        count: Number of rows.
        threads: Blocks worked on at the same time.
        block_bytes: Size of a block; it has at least one row.

    Returns:
        k rows of each query, k the smaller one of `count` and n.

    Raises:
        CrossmodalError: If a score is NaN.
    """
    size = max(1, block_bytes // max(1, gallery[:1].nbytes))

    def best_of(start: int) -> tuple[np.ndarray, ...]:
        scores = score(gallery[start : start + size])
        if np.isnan(scores).any():
            raise CrossmodalError("a score is NaN; the model cannot compare this query")
        rows = np.stack([_first(row, count) for row in scores])
        exact = scores.astype(float)
        sums = np.stack([exact.sum(axis=1), np.square(exact).sum(axis=1)], axis=1)
        return rows + start, np.take_along_axis(scores, rows, 1), sums

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(best_of, range(0, len(gallery), size)))
    rows, scores = (np.concatenate(part, axis=1) for part in [*zip(*parts, strict=True)][:2])
    best = np.stack([_first(row, count) for row in scores])
    mean, square = np.sum([sums for *_, sums in parts], axis=0).T / len(gallery)
    deviation = np.sqrt(np.maximum(square - mean**2, 0))
    best_scores = np.take_along_axis(scores, best, 1)
    return Best(np.take_along_axis(rows, best, 1), best_scores, mean, deviation)


def _first(scores: np.ndarray, count: int) -> np.ndarray:
    """Return the columns of the highest of `scores` (n,), best first, equal ones in order."""
    if count < len(scores):
        least = np.partition(scores, -count)[-count]
        columns = np.flatnonzero(scores >= least)
    else:
        columns = np.arange(len(scores))
    return columns[np.argsort(-scores[columns], kind="stable")][:count]
