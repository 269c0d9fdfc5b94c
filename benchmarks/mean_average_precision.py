"""Time and memory of mAP over 20,000 x 20,000 embeddings on this machine, next to an argsort.

The peer sorts the documents of each query and walks down the list, as sklearn and torchmetrics do;
it gets the same scores, blocks and threads, on some of the queries.
Run: python benchmarks/mean_average_precision.py
"""

import resource
import time

import numpy as np

from crossmodal.metrics.blocks import BLOCK_BYTES, over_scores
from crossmodal.metrics.ranking import average_precision
from crossmodal.metrics.retrieval import Pool, evaluate, shares_label
from crossmodal.vectors import inner_product

ITEMS, WIDTH, CLASSES, THREADS = 20_000, 64, 10, 2
PEER_QUERIES = 2_000


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

    return over_scores(
        average, score_rows, count, len(gallery), block_bytes=block_bytes, threads=THREADS
    )["AP"]


def report(name, work):
    start = time.perf_counter()
    value = work()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # KiB on Linux
    print(f"{name:<44}{seconds:8.2f} s   peak so far {peak:5.2f} GiB")
    return value, seconds


def main():
    rng = np.random.default_rng(0)
    queries, gallery = pool(rng), pool(rng)
    print(f"{ITEMS} x {ITEMS} embeddings of width {WIDTH}, {CLASSES} classes, {THREADS} threads")

    def ours():
        return mean_average_precision(queries, gallery, average_precision, ITEMS, BLOCK_BYTES)

    def peer():  # its argsort holds 8-byte indices and sums, so smaller blocks for fairness
        return mean_average_precision(
            queries, gallery, argsort_average_precision, PEER_QUERIES, BLOCK_BYTES // 4
        )

    found, seconds = report("mAP@all, all queries", ours)
    report(
        "every metric of evaluate, all queries", lambda: evaluate(queries, gallery, threads=THREADS)
    )
    expected, peer_seconds = report(f"argsort mAP@all, first {PEER_QUERIES} queries", peer)
    scaled = peer_seconds * ITEMS / PEER_QUERIES
    print(
        f"argsort scaled to all queries: {scaled:.1f} s, {scaled / seconds:.1f} times mAP@all above"
    )
    difference = np.abs(found[:PEER_QUERIES] - expected).max()
    print(f"largest difference in AP: {difference:.1e} (argsort orders ties as it likes)")


if __name__ == "__main__":
    main()
