"""Time and memory of mAP among 20,000 embeddings on this machine, next to an argsort.

The peer sorts the documents of each query and walks down the list, as sklearn and torchmetrics do;
it gets the same scores and blocks.
Run: PYTHONPATH=. python benchmarks/mean_average_precision.py
"""

import resource
from functools import partial

import numpy as np

from benchmarks.ratio import Row, in_turns, named, show
from crossmodal.metrics.blocks import BLOCK_BYTES, over_scores
from crossmodal.metrics.ranking import average_precision
from crossmodal.metrics.retrieval import Pool, shares_label
from crossmodal.vectors import inner_product

ITEMS, QUERIES, WIDTH, CLASSES = 20_000, 2_000, 64, 10


def pool(rng):
    classes = rng.integers(CLASSES, size=ITEMS)
    embeddings = rng.standard_normal((ITEMS, WIDTH), np.float32)
    return Pool(embeddings, np.arange(ITEMS), np.eye(CLASSES, dtype=bool)[classes])


def argsort_average_precision(scores, relevant):
    order = np.argsort(-scores, axis=1)  # (q, n)
    hits = np.take_along_axis(relevant, order, axis=1)
    precision = hits.cumsum(axis=1) / np.arange(1, hits.shape[1] + 1)
    return (precision * hits).sum(axis=1) / np.maximum(hits.sum(axis=1), 1)


def mean_average_precision(queries, gallery, measure, count, block_bytes):
    def score_rows(rows):
        return inner_product(queries.embeddings[rows], gallery.embeddings)

    def average(rows, scores):
        return {"AP": measure(scores, shares_label(queries, gallery, rows))}

    return over_scores(average, score_rows, count, len(gallery), block_bytes=block_bytes)["AP"]


def ratios():
    rng = np.random.default_rng(0)
    queries, gallery = pool(rng), pool(rng)
    # the argsort holds 8-byte indices and sums, so smaller blocks for fairness
    ways = (average_precision, BLOCK_BYTES), (argsort_average_precision, BLOCK_BYTES // 4)
    works = [
        partial(mean_average_precision, queries, gallery, measure, QUERIES, block)
        for measure, block in ways
    ]
    np.testing.assert_allclose(*(work() for work in works), atol=1e-4)  # ties are in any order
    size = f"{QUERIES:,} queries, {ITEMS:,} documents, {CLASSES} categories"
    yield Row("mAP, whole ranking", size, f"argsort, {named('numpy')}", *in_turns(*works))


if __name__ == "__main__":
    show(ratios())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # KiB on Linux
    print(f"peak memory {peak:.2f} GiB")
