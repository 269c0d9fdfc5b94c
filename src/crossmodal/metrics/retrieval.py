"""Retrieval metrics of a set of queries against a gallery, in blocks of bounded memory.

Two notions of relevance are scored at once. Category: query and document share a label (mAP), which
includes the query's own pair. Instance: they belong to the same item (recall, ranks).
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.metrics.ranking import average_precision, first_hit, precision_at
from crossmodal.vectors import inner_product

RECALL_DEPTHS = (1, 5, 10)
CUTOFFS = (50, 100)  # R of AP@R in the papers
BLOCK_BYTES = 256 * 2**20
BYTES_PER_SCORE = 12  # a float32 score, a float32 count of shared labels, four booleans

Score = Callable[[np.ndarray, np.ndarray], np.ndarray]
ScoreRows = Callable[[slice], np.ndarray]


@dataclass(frozen=True)
class Pool:
    """One side of a retrieval.

    Args:
        embeddings: What the score reads, (n, ...) float32.
        items: Item each row belongs to, (n,) int; the captions of one image share it.
        labels: Which categories each row has, (n, C) bool; None if there are none.

    Raises:
        CrossmodalError: If there are no rows or their numbers differ.
    """

    embeddings: np.ndarray
    items: np.ndarray
    labels: np.ndarray | None = None

    def __post_init__(self) -> None:
        counts = {"embeddings": len(self.embeddings), "items": len(self.items)}
        if self.labels is not None:
            counts["labels"] = len(self.labels)
        if len(set(counts.values())) > 1 or not len(self.items):
            raise CrossmodalError(f"a pool needs rows, equally many of each: got {counts}")

    def __len__(self) -> int:
        return len(self.items)


def same_item(queries: Pool, gallery: Pool, rows: slice) -> np.ndarray:
    """Instance relevance (rows, n) of some queries.

    Args:
        queries: All queries.
        gallery: All documents.
        rows: The queries wanted.
    """
    return queries.items[rows, None] == gallery.items


def shares_label(queries: Pool, gallery: Pool, rows: slice) -> np.ndarray:
    """Category relevance (rows, n) of some queries; a row without labels is relevant to none.

    Args:
        queries: All queries, with labels.
        gallery: All documents, with labels.
        rows: The queries wanted.
    """
    shared = queries.labels[rows].astype(np.float32) @ gallery.labels.T.astype(np.float32)
    return shared > 0


def over_blocks(
    measure: Callable[[slice], Mapping[str, np.ndarray]],
    queries: int,
    gallery: int,
    *,
    block_bytes: int = BLOCK_BYTES,
    threads: int = 1,
) -> dict[str, np.ndarray]:
    """Run a measure over blocks of queries and join what it returns.

    Args:
        measure: Values of the queries in a slice, each (rows, ...), by name.
        queries: Number of queries.
        gallery: Number of documents.
        block_bytes: Working memory of all threads together; a block has at least one query.
        threads: Blocks worked on at the same time; with several, BLAS is best kept to one
            thread (OMP_NUM_THREADS=1).
    """
    size = max(1, block_bytes // (BYTES_PER_SCORE * gallery * threads))
    blocks = [slice(start, min(start + size, queries)) for start in range(0, queries, size)]
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(measure, blocks))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def per_query(
    queries: Pool,
    gallery: Pool,
    score_rows: ScoreRows,
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    scopes: Sequence[int] = (),
    block_bytes: int = BLOCK_BYTES,
    threads: int = 1,
) -> dict[str, np.ndarray]:
    """Metrics of each query: what `summary` averages and a bootstrap resamples.

    Args:
        queries: What is asked.
        gallery: What is searched.
        score_rows: Scores (rows, n) of the queries in a slice against the gallery.
        cutoffs: R of each AP@R.
        scopes: K of each precision.
        block_bytes: See `over_blocks`.
        threads: See `over_blocks`.

    Returns:
        'AP' and 'AP@R' if there are labels; 'R@K', 'rank' and both with '_pessimistic';
        'relevant', the number of documents sharing a label or else the item. All (q,). With
        `scopes`, 'precision' (q, len(scopes)) of the same relevance.

    Raises:
        CrossmodalError: If only one side has labels or a score is NaN.
    """
    if (queries.labels is None) != (gallery.labels is None):
        raise CrossmodalError("labels are given for one of queries and gallery; give both or none")

    def measure(rows: slice) -> dict[str, np.ndarray]:
        scores = score_rows(rows)
        relevant = same_item(queries, gallery, rows)
        values = _ranks(scores, relevant)
        if queries.labels is not None:
            relevant = shares_label(queries, gallery, rows)
            values["AP"] = average_precision(scores, relevant)
            values |= {f"AP@{r}": average_precision(scores, relevant, r) for r in cutoffs}
        if scopes:
            values["precision"] = precision_at(scopes, scores, relevant)
        return values | {"relevant": np.count_nonzero(relevant, axis=1)}

    return over_blocks(
        measure, len(queries), len(gallery), block_bytes=block_bytes, threads=threads
    )


def summary(values: Mapping[str, np.ndarray], gallery: int) -> dict[str, float]:
    """Means over queries under the names the tables use.

    MedR is the floor of the median rank: without ties it is floor(median zero-based rank) + 1, as
    in the VSE++ code, and an expected rank of 500.5 gives 500. MeanR and MedR count a query
    without its item in the gallery as rank inf, AP and recall count it as 0.

    Args:
        values: What `per_query` returned.
        gallery: Number of documents.

    Returns:
        'mAP' and 'mAP@R' in 0..1 if there are labels; 'R@K' in percent, 'MedR' and 'MeanR', each
        also '_pessimistic'; 'queries', 'gallery' and 'queries_without_relevant'.
    """
    metrics = {f"m{name}": values[name].mean() for name in values if name.startswith("AP")}
    for ties in ("", "_pessimistic"):
        for k in RECALL_DEPTHS:
            metrics[f"R@{k}{ties}"] = 100 * values[f"R@{k}{ties}"].mean()
        metrics[f"MedR{ties}"] = np.floor(np.median(values[f"rank{ties}"]))
        metrics[f"MeanR{ties}"] = values[f"rank{ties}"].mean()
    metrics["queries"] = len(values["relevant"])
    metrics["gallery"] = gallery
    metrics["queries_without_relevant"] = np.count_nonzero(values["relevant"] == 0)
    return {name: float(value) for name, value in metrics.items()}


def evaluate(
    queries: Pool,
    gallery: Pool,
    score: Score = inner_product,
    *,
    cutoffs: Sequence[int] = (50,),
    block_bytes: int = BLOCK_BYTES,
    threads: int = 1,
) -> dict[str, float]:
    """All metrics of one direction.

    Args:
        queries: What is asked.
        gallery: What is searched.
        score: Scores (q, n), higher is better, of some queries' embeddings against the gallery's.
        cutoffs: R of each mAP@R.
        block_bytes: Working memory apart from what `score` needs for itself, see `over_blocks`.
        threads: See `over_blocks`.

    Returns:
        Metrics by name, see `summary`.

    Raises:
        CrossmodalError: If only one side has labels or a score is NaN.
    """

    def score_rows(rows: slice) -> np.ndarray:
        return score(queries.embeddings[rows], gallery.embeddings)

    values = per_query(
        queries, gallery, score_rows, cutoffs=cutoffs, block_bytes=block_bytes, threads=threads
    )
    return summary(values, len(gallery))


def rsum(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """Sum of the recalls of both directions, the selection criterion of caption retrieval.

    Args:
        first: Metrics of one direction.
        second: Metrics of the other.
    """
    return sum(metrics[f"R@{k}"] for metrics in (first, second) for k in RECALL_DEPTHS)


def _ranks(scores: np.ndarray, relevant: np.ndarray) -> dict[str, np.ndarray]:
    hit = first_hit(scores, relevant)
    worst = hit.rank(pessimistic=True)
    values = {"rank": hit.rank(), "rank_pessimistic": worst}
    for k in RECALL_DEPTHS:
        values[f"R@{k}"] = hit.recall_at(k)
        values[f"R@{k}_pessimistic"] = worst <= k
    return values
