"""All retrieval metrics of embeddings, codes or scores of any origin, with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from crossmodal.errors import CrossmodalError
from crossmodal.metrics.blocks import BLOCK_BYTES, ScoreRows, Values, over_scores
from crossmodal.metrics.judged import metrics_of, summary, values_of
from crossmodal.metrics.relevances import Ids, Relevance, codes, grades_of
from crossmodal.metrics.resampling import COVERAGE, DRAWS, SEED, resampled_means
from crossmodal.metrics.scoring import Rows, Scoring, scorer


@dataclass(frozen=True)
class Evaluation:
    """Metrics of queries against a gallery.

    Args:
        metrics: By name: 'mAP', 'mAP@50', 'mAP@100', 'mAP@R', 'R-precision', 'MRR' and 'nDCG@10' in
            0..1; 'R@1', 'R@5' and 'R@10' in percent; 'MedR' and 'MeanR'; those with '_pessimistic'
            rank tied wrong documents first; 'queries', 'gallery', 'queries_without_relevant'.
        intervals: Of 95 %, over the queries, of each mean.
        per_query: Values of each query, (q,), by the name of their mean.
        items: Number of the item of each query, (q,).
    """

    metrics: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    per_query: dict[str, np.ndarray]
    items: np.ndarray

    def __str__(self) -> str:
        """Return a line for each metric, with its interval."""
        lines = []
        for name, value in self.metrics.items():
            ends = " to ".join(f"{end:.4g}" for end in self.intervals.get(name, ()))
            lines.append(f"{name:<24} {value:.6g}  {ends}".rstrip())
        return "\n".join(lines)


def evaluate(
    queries: Rows | ArrayLike,
    gallery: Rows | ArrayLike | None = None,
    relevance: Relevance = None,
    *,
    score: Scoring | None = None,
    ids: Ids | None = None,
    items: Sequence[object] | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
    block_bytes: int = BLOCK_BYTES,
    threads: int = 1,
) -> Evaluation:
    """Evaluate a retrieval, exactly where scores tie, in bounded memory.

    Args:
        queries: Embeddings or codes (q, d); or, without a gallery, scores (q, n), higher is better.
        gallery: Embeddings or codes (n, d); mapped files are read a part at a time.
        relevance: Ids or labels of queries and of documents, which are relevant where they are
            equal; or a column of each label of both, (q, C) and (n, C) bool, with any in common;
            or grades (q, n), also sparse; or qrels, query id -> document id -> grade. Without,
            query i means document i.
        score: 'cosine' or 'inner' of embeddings; 'hamming' of codes of two values, or of uint8 with
            eight bits each. By default 'hamming' of bool and uint8, 'cosine' of others.
        ids: Ids of queries and of documents, as qrels name them.
        items: Item of each query: queries of one item, such as its captions, are drawn together
            for the intervals. By default those of one id in `relevance`, if the ids of documents
            are all different; otherwise each query by itself.
        draws: Bootstrap draws; 0: no intervals.
        seed: Draws them.
        block_bytes: Working memory besides the gallery and what is returned.
        threads: Blocks of queries at the same time.

    Raises:
        CrossmodalError: If shapes or ids do not fit, a score is NaN, or a grade is negative.
    """
    for name, value, least in (("draws", draws, 0), ("threads", threads, 1), ("seed", seed, 0)):
        if not isinstance(value, int | np.integer) or value < least:
            raise CrossmodalError(f"{name} {value!r}: give a whole number, {least} or more")
    score_rows, count, documents = _scores(queries, gallery, score)
    grades = grades_of(relevance, ids, count, documents)

    def measure(rows: slice, scores: np.ndarray) -> Values:
        _check_numbers(scores, rows.start)
        return values_of(scores, grades(rows))

    values = over_scores(
        measure, score_rows, count, documents, block_bytes=block_bytes, threads=threads
    )
    means = metrics_of(values)
    own = _items(items, relevance, count)
    intervals = _intervals(means, own, draws, seed) if draws else {}
    return Evaluation(summary(values, documents), intervals, means, own)


def _scores(
    queries: Rows | ArrayLike, gallery: Rows | ArrayLike | None, score: Scoring | None
) -> tuple[ScoreRows, int, int]:
    """Return what scores queries, and the numbers of queries and documents."""
    asked = _rows(queries, "queries")
    if gallery is None:
        if score:
            raise CrossmodalError(f"`score` {score!r} compares with a gallery; give one")
        if len(asked.shape) != 2:
            raise CrossmodalError(f"scores are of shape {asked.shape}; give queries x documents")
        return asked.__getitem__, *_sizes(asked.shape)
    searched = _rows(gallery, "gallery")
    is_code = np.asarray(asked[:1]).dtype in (bool, np.uint8)
    score_rows = scorer(asked, searched, score or ("hamming" if is_code else "cosine"))
    return score_rows, *_sizes((asked.shape[0], searched.shape[0]))


def _rows(given: Rows | ArrayLike, name: str) -> Rows:
    """Return rows of numbers of which slices are taken.

    Raises:
        CrossmodalError: If they are something else.
    """
    try:
        sliced = hasattr(given, "shape") and hasattr(given, "dtype")
        rows = cast(Rows, given) if sliced else np.asarray(given)
        dtype = np.asarray(rows[:1] if rows.shape else rows).dtype
    except (TypeError, ValueError, RuntimeError) as error:  # the last two of torch
        raise CrossmodalError(f"{name}: {error}; give an array of NumPy's of numbers") from error
    if dtype.kind not in "biuf":
        raise CrossmodalError(f"{name}: holds {dtype}; give a dense matrix of real numbers")
    return rows


def _check_numbers(scores: np.ndarray, first: int) -> None:
    """Check the scores (q, n) of some queries, from the one of number `first` on."""
    wrong = np.flatnonzero(np.isnan(scores.max(axis=1)))  # the maximum propagates NaN
    if wrong.size:
        place = int(np.argmax(np.isnan(scores[wrong[0]])))
        raise CrossmodalError(
            f"the score of query {first + wrong[0]} and document {place} is NaN and has no rank; "
            "look for NaN, infinite or empty inputs in these rows"
        )


def _sizes(shape: tuple[int, ...]) -> tuple[int, int]:
    queries, documents = shape
    if not queries or not documents:
        raise CrossmodalError(f"{queries:,} queries and {documents:,} documents; give some of both")
    return queries, documents


def _items(items: Sequence[object] | None, relevance: Relevance, count: int) -> np.ndarray:
    """Return the item of each query as whole numbers."""
    names = np.arange(count) if items is None else np.asarray(items)
    names = names.astype(str) if names.dtype.kind == "O" else names  # None, too, has a place
    if items is None and isinstance(relevance, tuple) and np.ndim(relevance[0]) == 1:
        own, others = codes(*relevance)
        # where a document is all that its id names, queries of one id are of one item
        names = own if len(np.unique(others)) == len(others) else names
    if len(names) != count:
        raise CrossmodalError(f"{len(names):,} items of {count:,} queries; give one of each")
    return np.unique(names, return_inverse=True)[1]


def _intervals(
    means: dict[str, np.ndarray], items: np.ndarray, draws: int, seed: int
) -> dict[str, tuple[float, float]]:
    finite = [name for name, of in means.items() if np.isfinite(of).all()]
    values = np.stack([means[name] for name in finite], axis=1)
    drawn = resampled_means({"": items}, {"": values}, draws=draws, seed=seed)[""]
    low, high = np.percentile(drawn, COVERAGE, axis=0).tolist()
    return dict(zip(finite, zip(low, high, strict=True), strict=True))
