"""Seconds of a search among 1,000,000 embeddings of 512 dimensions, next to FAISS used directly.

Rows and queries are points of a space of 32 dimensions, turned into 512, with noise; as in a model,
a query lies beside the rows that it wants. Ours reads memory-mapped files; FAISS holds its
indexes in memory. Both get one query at a time and the same threads; they take turns, and the
median of the queries counts. Recall@10 is that of the exact search. Needs 8 GB of memory and 3 GB
of disk.
Run: PYTHONPATH=. python benchmarks/search.py
"""

import os
import tempfile
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace

import faiss
import numpy as np

from benchmarks.ratio import Row, named, show
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


def ratios():
    rows, queries = make_rows()
    faiss.omp_set_num_threads(THREADS)
    flat = faiss.IndexFlatIP(WIDTH)
    flat.add(rows)
    size = f"{ITEMS:,} rows of {WIDTH} columns"
    each = f"{size}, a query"
    how = f"wall clock, {THREADS} threads"
    with tempfile.TemporaryDirectory() as folder:
        model = SimpleNamespace(score=lambda q, g, direction: inner_product(q, g))
        content = in_form([str(row) for row in range(ITEMS)], rows, model, DIRECTION)
        index = Index(model, DIRECTION, content, Path(folder, "cells.faiss"))

        def ours(**options):
            return lambda query: [
                int(hit.id) for hit in index.search(query, COUNT, threads=THREADS, **options)
            ]

        exact = flat.search(queries, COUNT)[1]
        start = perf_counter()
        ours(approximate=True)(queries[:1])
        middle = perf_counter()
        direct = cells_in_memory(rows, queries, exact)
        built = middle - start, perf_counter() - middle
        pairs = {
            "Exact": (ours(), peer(flat)),
            "Approximate": (ours(approximate=True), peer(direct)),
        }
        for name, finders in pairs.items():
            results = [timed(find, queries) for find in finders for _ in range(2)][1::2]
            recalls = [f"{recall(found, exact):.3f}" for found, _ in results]
            note = f"{how}; recall@{COUNT} {recalls[0]}, the peer's {recalls[1]}"
            times = [float(np.median(seconds)) for _, seconds in results]
            yield Row(f"{name} search", each, named("faiss-cpu"), *times, note)
        yield Row(
            "Cells of approximate search, built",
            size,
            named("faiss-cpu"),
            *built,
            f"{how}; ours also codes numbers as bytes, writes, and finds 200 rows exactly",
        )


if __name__ == "__main__":
    show(ratios())
