"""Scores of many queries and documents in bounded memory.

Scores come in blocks of whole queries, so many that the matrix product is efficient; they are
ranked in strips of a few queries, whose relevance and sorted copies then stay small. A query's
documents are never split, and so each value is what it is over all scores at once.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

BLOCK_BYTES = 256 * 2**20
STRIP_BYTES = 16 * 2**20
BYTES_PER_SCORE = 4  # of a block: float32
BYTES_PER_RANK = 24  # of a strip: labels in common, relevance, a row's sorted copies

Values = Mapping[str, np.ndarray]
Measure = Callable[[slice], Values]
ScoreRows = Callable[[slice], np.ndarray]


def over_blocks(
    measure: Measure,
    queries: int,
    gallery: int,
    *,
    block_bytes: int = BLOCK_BYTES,
) -> dict[str, np.ndarray]:
    """Run a measure over blocks of queries and join what it returns.

    Args:
        measure: Values of the queries in a slice, each (rows, ...), by name.
        queries: Number of queries.
        gallery: Number of documents.
        block_bytes: Working memory; a block has at least one query.
    """
    size = block_bytes // ((BYTES_PER_SCORE + BYTES_PER_RANK) * gallery)
    return _joined(measure, slice(0, queries), size)


def over_scores(
    measure: Callable[[slice, np.ndarray], Values],
    score_rows: ScoreRows,
    queries: int,
    gallery: int,
    *,
    block_bytes: int = BLOCK_BYTES,
    threads: int = 1,
) -> dict[str, np.ndarray]:
    """Score blocks of queries, run a measure over strips of them and join what it returns.

    Args:
        measure: Values of the queries in a slice with these scores (rows, n), each (rows, ...), by
            name.
        score_rows: Scores (rows, n) of the queries in a slice.
        queries: Number of queries.
        gallery: Number of documents.
        block_bytes: Working memory of all threads together; a block has at least one query.
        threads: Blocks worked on at the same time; with several, BLAS is best kept to one
            thread (OMP_NUM_THREADS=1).
    """
    budget = block_bytes // threads
    ranking = min(STRIP_BYTES, budget // 2)
    strip = ranking // (BYTES_PER_RANK * gallery)
    size = (budget - ranking) // (BYTES_PER_SCORE * gallery)

    def block(rows: slice) -> Values:
        scores = score_rows(rows)

        def ranked(part: slice) -> Values:
            return measure(part, scores[part.start - rows.start : part.stop - rows.start])

        return _joined(ranked, rows, strip)

    if threads == 1:
        return _joined(block, slice(0, queries), size)
    with ThreadPoolExecutor(threads) as pool:
        return _joined(block, slice(0, queries), size, pool.map)


def _joined(
    measure: Measure, rows: slice, size: int, over: Callable[..., Iterable[Values]] = map
) -> dict[str, np.ndarray]:
    """Return the values of a slice of queries, measured `size` at a time, or one."""
    size = max(1, size)
    starts = range(rows.start, rows.stop, size)
    parts = [slice(start, min(start + size, rows.stop)) for start in starts]
    blocks = list(over(measure, parts))
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
