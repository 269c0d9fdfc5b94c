"""Time and memory of all metrics against 1,000,000 documents, next to the bare matrix product.

The embeddings are those of the whole task, 100,000 queries and 1,000,000 documents of 512
dimensions; some of the queries are scored and ranked. Time is linear in their number, memory does
not depend on it. The peer multiplies the same queries with all documents in its best blocks, on
the same threads, and keeps nothing; they take turns. Needs 4 GB of memory.
Run: OMP_NUM_THREADS=1 python benchmarks/evaluation.py [--queries 1024] [--threads 2]
"""

import argparse
import resource
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import numpy as np

from crossmodal.metrics.retrieval import Pool, evaluate

QUERIES, DOCUMENTS, WIDTH, CATEGORIES = 100_000, 1_000_000, 512, (10, 100)
BLOCK, ROUNDS = 256, 2


def embeddings(rng, count):
    """Random rows, (count, WIDTH) float32; a tenth of them equal to others, so that scores tie."""
    rows = rng.standard_normal((count, WIDTH), np.float32)
    rows[: count // 10] = rows[-(count // 10) :]
    return rows


def product(queries, documents, threads):
    """All scores, none of them kept."""

    def multiply(start):
        queries[start : start + BLOCK] @ documents.T

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(multiply, range(0, len(queries), BLOCK)))


def seconds(work):
    start = perf_counter()
    work()
    return perf_counter() - start


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # KiB on Linux


def report(name, taken, bare, share):
    print(
        f"{name:<34}{taken:8.1f} s {taken / bare:6.2f} times the product"
        f"   all {QUERIES}: {taken / share / 3600:5.1f} h   peak so far {peak():5.2f} GiB",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    count, threads = arguments.queries, arguments.threads
    rng = np.random.default_rng(0)
    queries, documents = embeddings(rng, QUERIES), embeddings(rng, DOCUMENTS)
    print(f"{count} of {QUERIES} queries, {DOCUMENTS} documents x {WIDTH}, {threads} threads")

    def pools(categories):
        """Both sides; each item has one document and one of the categories, or none."""
        for rows in (queries[:count], documents):
            items = np.arange(len(rows))
            labels = np.eye(categories, dtype=bool)[items % categories] if categories else None
            yield Pool(rows, items, labels)

    works = {"recall and ranks": [*pools(0)]}
    works |= {f"the same and mAP, {c} categories": [*pools(c)] for c in CATEGORIES}
    best = dict.fromkeys(["product", *works], np.inf)
    for _ in range(ROUNDS):
        best["product"] = min(
            best["product"], seconds(lambda: product(queries[:count], documents, threads))
        )
        for name, pair in works.items():
            taken = seconds(lambda pair=pair: evaluate(*pair, threads=threads))
            best[name] = min(best[name], taken)
    for name, taken in best.items():
        report(name, taken, best["product"], count / QUERIES)


if __name__ == "__main__":
    main()
