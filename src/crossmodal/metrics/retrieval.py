"""Retrieval metrics of a set of queries against a gallery, in bounded memory.

Two notions of relevance are scored at once. Category: query and document share a label (mAP), which
includes the query's own pair. Instance: they belong to the same item (recall, ranks).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.metrics.blocks import BLOCK_BYTES, ScoreRows, over_scores
from crossmodal.metrics.ranking import average_precision, counts, first_hit, precision_at
from crossmodal.vectors import inner_product

RECALL_DEPTHS = (1, 5, 10)
CUTOFFS = (50, 100)  # R of AP@R in the papers

Score = Callable[[np.ndarray, np.ndarray], np.ndarray]


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

    @cached_property
    def label_words(self) -> np.ndarray:
        """The labels of each row as bits of (C + 63) // 64 words, (words, n) uint64."""
        assert self.labels is not None
        bits = np.packbits(self.labels, axis=1)  # (n, bytes)
        padded = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))
        return np.ascontiguousarray(padded.view(np.uint64).T)


def same_item(queries: Pool, gallery: Pool, rows: slice) -> np.ndarray:
    """Return the instance relevance (rows, n) of some queries.

    Args:
        queries: All queries.
        gallery: All documents.
        rows: The queries wanted.
    """
    return queries.items[rows, None] == gallery.items


def shares_label(queries: Pool, gallery: Pool, rows: slice) -> np.ndarray:
    """Return the category relevance (rows, n) of some queries; 0 for rows without labels.

    Args:
        queries: All queries, with labels.
        gallery: All documents, with labels.
        rows: The queries wanted.
    """
    shared = np.zeros((rows.stop - rows.start, len(gallery)), bool)
    for query, document in zip(queries.label_words[:, rows], gallery.label_words, strict=True):
        shared |= (query[:, None] & document) != 0
    return shared


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
    """Return the metrics of each query, which `summary` averages and a bootstrap resamples.

    Args:
        queries: What is asked.
        gallery: What is searched.
        score_rows: Scores (rows, n) of the queries in a slice against the gallery.
        cutoffs: R of each AP@R.
        scopes: K of each precision.
        block_bytes: See `over_scores`.
        threads: See `over_scores`.

    Returns:
        'AP' and 'AP@R' if there are labels; 'R@K', 'rank' and both with '_pessimistic';
        'relevant', the number of documents sharing a label or else the item. All (q,). With
        `scopes`, 'precision' (q, len(scopes)) of the same relevance.

    Raises:
        CrossmodalError: If only one side has labels or a score is NaN.
    """
    if (queries.labels is None) != (gallery.labels is None):
        raise CrossmodalError("labels are given for one of queries and gallery; give both or none")

    def measure(rows: slice, scores: np.ndarray) -> dict[str, np.ndarray]:
        relevant = same_item(queries, gallery, rows)
        values = ranks(scores, relevant)
        if queries.labels is not None:
            relevant = shares_label(queries, gallery, rows)
            values["AP"] = average_precision(scores, relevant)
            values |= {f"AP@{r}": average_precision(scores, relevant, r) for r in cutoffs}
        if scopes:
            values["precision"] = precision_at(scopes, scores, relevant)
        return values | {"relevant": counts(relevant)}

    return over_scores(
        measure, score_rows, len(queries), len(gallery), block_bytes=block_bytes, threads=threads
    )


def summary(values: Mapping[str, np.ndarray], gallery: int) -> dict[str, float]:
    """Return means over queries under the names that the tables use.

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
    """Compute all metrics of one direction.

    Args:
        queries: What is asked.
        gallery: What is searched.
        score: Scores (q, n), higher is better, of some queries' embeddings against the gallery's.
        cutoffs: R of each mAP@R.
        block_bytes: Working memory apart from what `score` needs for itself, see `over_scores`.
        threads: See `over_scores`.

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


def ranks(scores: np.ndarray, relevant: np.ndarray) -> dict[str, np.ndarray]:
    """Return rank and recalls (q,) of the first relevant document, also pessimistic."""
    hit = first_hit(scores, relevant)
    worst = hit.rank(pessimistic=True)
    values = {"rank": hit.rank(), "rank_pessimistic": worst}
    for k in RECALL_DEPTHS:
        values[f"R@{k}"] = hit.recall_at(k)
        values[f"R@{k}_pessimistic"] = worst <= k
    return values
