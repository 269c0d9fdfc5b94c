"""Approximate search of inner products by FAISS, an optional library.

The rows are clustered into cells, of which a query visits the nearest ones; rows in cells are
quantised to one byte per dimension. The caller scores the candidates exactly.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

from crossmodal.errors import CrossmodalError

RECALL, DEPTH = 0.95, 10  # target for rows of the gallery as queries; others have less
QUERIES = 200
PER_CELL = 40  # training rows of a cell
CHUNK = 50_000
MARGIN = 10  # candidates per result


def require_faiss() -> Any:
    """Import FAISS.

    Raises:
        CrossmodalError: If it is not installed.
    """
    try:
        import faiss
    except ImportError as error:
        raise CrossmodalError(
            "approximate search needs FAISS: "
            "pip install 'crossmodal-retrieval[faiss]'; or search exactly"
        ) from error
    return faiss


def write_neighbours(rows: np.ndarray, path: Path, threads: int) -> float:
    """Train cells, fill them, and write them to a file.

    Args:
        rows: (n, d) float32, may be memory-mapped.
        path: The file.
        threads: Number of threads.

    Returns:
        Recall@10 of rows of the gallery, with as many visited cells as reach `RECALL`.
    """
    faiss = require_faiss()
    faiss.omp_set_num_threads(threads)
    rng = np.random.default_rng(0)
    cells = max(1, min(round(math.sqrt(len(rows))), len(rows) // PER_CELL))
    index = faiss.index_factory(rows.shape[1], f"IVF{cells},SQ8", faiss.METRIC_INNER_PRODUCT)
    sample = np.sort(rng.permutation(len(rows))[: PER_CELL * cells])
    index.train(np.ascontiguousarray(rows[sample]))
    for start in range(0, len(rows), CHUNK):
        index.add(np.ascontiguousarray(rows[start : start + CHUNK]))
    queries = np.ascontiguousarray(rows[np.sort(rng.permutation(len(rows))[:QUERIES])])
    recall = _choose_visits(index, rows, queries, cells)
    faiss.write_index(index, str(path))
    return recall


def _choose_visits(index: Any, rows: np.ndarray, queries: np.ndarray, cells: int) -> float:
    """Visit as few cells, a power of two, as reach `RECALL`; return the recall."""
    faiss = require_faiss()
    exact = faiss.knn(queries, rows, min(DEPTH, len(rows)), faiss.METRIC_INNER_PRODUCT)[1]
    index.nprobe = 1
    while True:
        candidates = index.search(queries, MARGIN * exact.shape[1])[1]
        hits = (exact[:, :, None] == candidates[:, None, :]).any(2)
        if hits.mean() >= RECALL or index.nprobe >= cells:
            return float(hits.mean())
        index.nprobe = min(cells, 2 * index.nprobe)


class Neighbours:
    """Cells of a file; their rows stay on the disk until they are visited.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._faiss = require_faiss()
        self._index = self._faiss.read_index(str(path), self._faiss.IO_FLAG_MMAP)

    def near(self, query: np.ndarray, count: int, threads: int) -> np.ndarray:
        """Return candidates for the nearest rows of a query, in increasing order, (m,).

        Args:
            query: (d,) float32.
            count: Number of nearest rows.
            threads: Number of threads.
        """
        self._faiss.omp_set_num_threads(threads)
        rows = self._index.search(query[None], MARGIN * count)[1][0]
        return np.sort(rows[rows >= 0])
