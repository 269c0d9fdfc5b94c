"""Seconds of a search among 1,000,000 embeddings of 512 dimensions, next to FAISS used directly.

Rows and queries are points of a space of 32 dimensions, turned into 512, with noise; as in a model,
a query lies beside the rows that it wants. Ours reads memory-mapped files; FAISS holds its
indexes in memory. Both get one query at a time and the same threads; they take turns. Recall@10 is
that of the exact search. Needs 8 GB of memory and 3 GB of disk.
Run: python benchmarks/search.py
"""

import os
import tempfile
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace

import faiss
import numpy as np

from crossmodal.search.index import Index, in_form
from crossmodal.vectors import inner_product, unit_rows

ITEMS, WIDTH, LATENT, NOISE, APART = 1_000_000, 512, 32, 0.02, 0.3
QUERIES, COUNT, CELLS, RECALL = 50, 10, 1_000, 0.95
THREADS = len(os.sched_getaffinity(0))
DIRECTION = ("text", "image")


def make_rows():
    """Rows (ITEMS, WIDTH) and queries (QUERIES, WIDTH), of unit length."""
    rng = np.random.default_rng(0)
    turn = rng.standard_normal((LATENT, WIDTH), np.float32)
    rows = np.empty((ITEMS, WIDTH), np.float32)
    for part in np.array_split(rows, 20):
        points = rng.standard_normal((len(part), LATENT), np.float32)
        part[:] = points @ turn + NOISE * rng.standard_normal(part.shape, np.float32)
        part[:] = unit_rows(part)
    wanted = rows[rng.permutation(ITEMS)[:QUERIES]]
    beside = rng.standard_normal((QUERIES, LATENT), np.float32) @ turn
    return rows, unit_rows(wanted + APART * unit_rows(beside))


def timed(find, queries):
    """What each query finds, and the seconds of each."""
    found, seconds = [], []
    for query in queries:
        start = perf_counter()
        found.append(find(query[None]))
        seconds.append(perf_counter() - start)
    return np.array(found), np.array(seconds)


def peer(index):
    """FAISS used directly."""
    return lambda query: index.search(query, COUNT)[1][0]


def cells_in_memory(rows, queries, exact):
    """FAISS's cells of uncompressed rows, as many visited as `RECALL` takes."""
    index = faiss.index_factory(WIDTH, f"IVF{CELLS},Flat", faiss.METRIC_INNER_PRODUCT)
    index.train(rows[:: ITEMS // (40 * CELLS)])
    index.add(rows)
    while recall(index.search(queries, COUNT)[1], exact) < RECALL:
        index.nprobe *= 2
    return index


def recall(found, exact):
    """Share of the exact results that were found."""
    return np.mean([len({*a} & {*b}) / COUNT for a, b in zip(found, exact, strict=True)])


def main():
    rows, queries = make_rows()
    faiss.omp_set_num_threads(THREADS)
    flat = faiss.IndexFlatIP(WIDTH)
    flat.add(rows)
    with tempfile.TemporaryDirectory() as folder:
        model = SimpleNamespace(score=lambda q, g, direction: inner_product(q, g))
        content = in_form([str(row) for row in range(ITEMS)], rows, model, DIRECTION)
        index = Index(model, DIRECTION, content, Path(folder, "cells.faiss"))

        def ours(**how):
            return lambda query: [
                int(hit.id) for hit in index.search(query, COUNT, threads=THREADS, **how)
            ]

        def through_method(query):
            scores = [model.score(query, block, DIRECTION) for block in np.array_split(rows, 40)]
            return np.argsort(-np.concatenate(scores, 1)[0])[:COUNT]

        exact = flat.search(queries, COUNT)[1]
        start = perf_counter()
        ours(approximate=True)(queries[:1])
        print(f"cells of ours built in {perf_counter() - start:.0f} s")
        start = perf_counter()
        direct = cells_in_memory(rows, queries, exact)
        print(f"cells of FAISS built in {perf_counter() - start:.0f} s, visits {direct.nprobe}")
        pairs = {
            "exact": (ours(), peer(flat)),
            "approximate": (ours(approximate=True), peer(direct)),
        }
        print(f"{ITEMS} x {WIDTH}, {THREADS} threads; milliseconds: median, worst of {QUERIES}")
        for name, finders in pairs.items():
            results = [timed(find, queries) for find in finders for _ in range(2)][1::2]
            for who, (found, seconds) in zip(("ours", "FAISS"), results, strict=True):
                print(
                    f"{name:<12}{who:<6}{1e3 * np.median(seconds):8.1f}{1e3 * seconds.max():8.1f}"
                    f"   recall@{COUNT} {recall(found, exact):.3f}"
                )
            print(f"{name:<12}ratio {np.median(results[0][1]) / np.median(results[1][1]):8.2f}")
        _, seconds = timed(through_method, queries[:5])
        print(f"by the method's score, a cosine: {1e3 * np.median(seconds):.0f}")


if __name__ == "__main__":
    main()
