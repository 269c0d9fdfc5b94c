"""Time and memory of all metrics of 100,000 queries against 1,000,000 documents.

With --whole, `crossmodal.evaluate` does all of it once, from files, with intervals: about an hour
of one processor, at width 64. Otherwise some queries are measured next to the bare matrix product.

The embeddings are those of the whole task, 100,000 queries and 1,000,000 documents of 512
dimensions; some of the queries are scored and ranked. Time is linear in their number, memory does
not depend on it. The peers multiply the same queries with all documents in blocks, on the same
threads, and keep nothing: by `@`, and into memory that is used again. All take turns. Time is that
of the processors, so that other work on the machine matters little. Needs 4 GB of memory.
Run: export OMP_NUM_THREADS=1 PYTHONPATH=.
     python benchmarks/evaluation.py [--queries 512] [--threads 1]
     python benchmarks/evaluation.py --whole [--queries 100000] [--width 64]
"""

import argparse
import resource
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import crossmodal
from benchmarks.ratio import Row, in_turns, named
from crossmodal.metrics.retrieval import Pool, evaluate

QUERIES, DOCUMENTS, WIDTH, CATEGORIES = 100_000, 1_000_000, 512, (10, 100)
BLOCK, ROUNDS = 128, 2


def embeddings(rng, count):
    """Random rows, (count, WIDTH) float32; a tenth of them equal to others, so that scores tie."""
    rows = rng.standard_normal((count, WIDTH), np.float32)
    rows[: count // 10] = rows[-(count // 10) :]
    return rows


def product(queries, documents, threads, reuse):
    """All scores, none of them kept."""
    buffers = threading.local()

    def multiply(start):
        rows = queries[start : start + BLOCK]
        if reuse and not hasattr(buffers, "scores"):
            buffers.scores = np.empty((BLOCK, len(documents)), np.float32)
        np.matmul(rows, documents.T, out=buffers.scores[: len(rows)] if reuse else None)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(multiply, range(0, len(queries), BLOCK)))


def whole(count, width, threads):
    """Evaluate queries that are noisy copies of documents, both mapped from files."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{name}.npy") for name in ("queries", "documents")]
        documents = rng.standard_normal((DOCUMENTS, width), np.float32)
        np.save(files[1], documents)
        np.save(files[0], documents[:count] + 2 * rng.standard_normal((count, width), np.float32))
        del documents
        queries, gallery = (np.load(file, mmap_mode="r") for file in files)
        relevance = np.arange(count), np.arange(DOCUMENTS)
        evaluate_all = partial(crossmodal.evaluate, queries, gallery, relevance, threads=threads)
        found = []
        [taken] = in_turns(lambda: found.append(evaluate_all()), rounds=1)
    print(found[0])
    print(f"{count} queries, {DOCUMENTS} documents x {width}: {taken:.0f} s, {threads} threads")


def parts(count, threads, all_categories):
    """What some of the queries take, and the bare products first, by name."""
    rng = np.random.default_rng(0)
    queries, documents = embeddings(rng, QUERIES), embeddings(rng, DOCUMENTS)

    def pools(categories):
        """Both sides; each item has one document and one of the categories, or none."""
        for rows in (queries[:count], documents):
            items = np.arange(len(rows))
            labels = np.eye(categories, dtype=bool)[items % categories] if categories else None
            yield Pool(rows, items, labels)

    works = {
        name: partial(product, queries[:count], documents, threads, reuse)
        for name, reuse in (("product", False), ("product, reused memory", True))
    }
    for categories in (0, *all_categories):
        name = f"the same and mAP, {categories} categories" if categories else "recall and ranks"
        works[name] = partial(evaluate, *pools(categories), threads=threads)
    return dict(zip(works, in_turns(*works.values(), rounds=ROUNDS), strict=True))


def report(count, threads):
    """Print some of the queries next to the bare products."""
    print(f"{count} of {QUERIES} queries, {DOCUMENTS} documents x {WIDTH}, {threads} threads")
    best = parts(count, threads, CATEGORIES)
    plain, reused = list(best.values())[:2]
    for name, taken in best.items():
        hours = taken / count * QUERIES / 3600
        print(
            f"{name:<34}{taken:7.1f} s {taken / plain:6.2f} and {taken / reused:5.2f} times the "
            f"products   all {QUERIES}: {hours:5.2f} h"
        )


def ratios():
    plain, _, ours = parts(BLOCK, 1, ()).values()
    size = f"{BLOCK} queries, {DOCUMENTS:,} documents, width {WIDTH}"
    peer, note = f"the bare product, {named('numpy')}", "a bound: it ranks nothing"
    yield Row("Recall and ranks, whole ranking", size, peer, ours, plain, note)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--queries", type=int)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.whole:
        whole(arguments.queries or QUERIES, arguments.width, arguments.threads)
    else:
        report(arguments.queries or 512, arguments.threads)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
