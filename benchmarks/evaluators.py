"""Retrieval metrics of 100,000 embeddings against 100,000, beside mteb's evaluator and ranx.

First each query has one relevant document, and recall is compared. mteb and ranx rank the first ten
of each query, ours all documents. mteb gets its embeddings from memory, 2,000 documents at a time:
with its 50,000, scores alone take 20 GB. ranx does not search; FAISS, which is the fastest, does it
for it. Then the mean average precision of categories, which needs the whole ranking: mteb and ranx
hold it in dictionaries, so they are measured on fewer items. One thread. Values are compared first.
Run: PYTHONPATH=. python benchmarks/evaluators.py
"""

import logging
from functools import partial
from importlib.util import find_spec

import numpy as np

from benchmarks.ratio import EXTRA, Row, in_turns, named, not_measured, show
from crossmodal.metrics.retrieval import Pool, evaluate
from crossmodal.vectors import unit_rows

ITEMS, FEW, WIDTH, NOISE, CATEGORIES, CHUNK = 100_000, 2_000, 64, 2, 10, 2_000
DEPTHS = (1, 5, 10)


def embeddings(count):
    """Unit rows of queries and of documents, (count, WIDTH) float32; row i of both is a pair."""
    rng = np.random.default_rng(0)
    documents = rng.standard_normal((count, WIDTH), np.float32)
    queries = documents + NOISE * rng.standard_normal((count, WIDTH), np.float32)
    return unit_rows(queries), unit_rows(documents)


def ours(queries, documents, categories):
    """Share of queries with their pair among the first, or mAP if there are categories."""
    items = np.arange(len(queries))
    labels = np.eye(categories, dtype=bool)[items % categories] if categories else None
    found = evaluate(*(Pool(rows, items, labels) for rows in (queries, documents)))
    return [found["mAP"]] if categories else [found[f"R@{k}"] / 100 for k in DEPTHS]


def judgements(count, categories):
    """Names of the relevant documents of each query."""
    names = [f"d{item}" for item in range(count)]
    kinds = [names[kind::categories] for kind in range(categories)]
    return {
        f"q{item}": dict.fromkeys(kinds[item % categories] if categories else [names[item]], 1)
        for item in range(count)
    }


def searched(queries, documents, depth):
    """Scores and numbers of the first documents of each query, by FAISS."""
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(WIDTH)
    index.add(documents)
    return index.search(queries, depth)


def by_ranx(queries, documents, categories):
    """The same values by ranx."""
    import ranx

    count = len(queries)
    scores, found = searched(queries, documents, count if categories else max(DEPTHS))
    names = np.array([f"d{item}" for item in range(count)])
    run = ranx.Run(
        {
            f"q{item}": dict(zip(names[rows].tolist(), values.tolist(), strict=True))
            for item, (rows, values) in enumerate(zip(found, scores, strict=True))
        }
    )
    metrics = ["map"] if categories else [f"recall@{k}" for k in DEPTHS]
    values = ranx.evaluate(ranx.Qrels(judgements(count, categories)), run, metrics)
    return [values[name] for name in metrics] if len(metrics) > 1 else [values]


def by_mteb(queries, documents, categories):
    """The same values by mteb."""
    import mteb
    import torch
    from datasets import Dataset
    from mteb.abstasks import AbsTaskRetrieval
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.models import ModelMeta
    from mteb.models.search_wrappers import SearchEncoderWrapper
    from mteb.types import PromptType

    logging.getLogger("mteb").setLevel(logging.ERROR)
    count = len(queries)
    depth = count if categories else max(DEPTHS)

    class Pairs(AbsTaskRetrieval):
        metadata = TaskMetadata(
            name="Pairs", description="Pairs.", type="Retrieval", category="t2t",
            modalities=["text"], eval_splits=["test"], eval_langs=["eng-Latn"],
            main_score=f"hit_rate_at_{depth}", dataset={"path": "pairs", "revision": "1"},
        )  # fmt: skip
        k_values = sorted({*DEPTHS, depth})

        def load_data(self, **_):
            sides = {"queries": "q", "corpus": "d"}
            tables = {
                side: Dataset.from_dict(
                    {"id": [f"{x}{i}" for i in range(count)], "text": ["-"] * count}
                )
                for side, x in sides.items()
            }
            split = {**tables, "relevant_docs": judgements(count, categories), "top_ranked": None}
            self.dataset, self.data_loaded = {"default": {"test": split}}, True

    class Stored:
        """Takes the next embeddings from memory, whatever the texts."""

        mteb_model_meta = ModelMeta.create_empty()
        taken = 0

        def encode(self, inputs, *, prompt_type, **_):
            if prompt_type == PromptType.query:
                return torch.from_numpy(queries)
            start, self.taken = self.taken, self.taken + len(inputs.dataset)
            return torch.from_numpy(documents[start : self.taken])

        def similarity(self, a, b):
            return a @ b.T

        def similarity_pairwise(self, a, b):
            return (a * b).sum(1)

    quiet = {"cache": None, "show_progress_bar": False, "co2_tracker": False}
    model = SearchEncoderWrapper(Stored(), corpus_chunk_size=CHUNK)
    scores = mteb.evaluate(model, Pairs(), **quiet).task_results[0].scores["test"][0]
    return [
        scores[name]
        for name in ([f"map_at_{depth}"] if categories else [f"hit_rate_at_{k}" for k in DEPTHS])
    ]


def compared(what, count, categories, notes):
    """Rows of both peers; each does all once, after a few items whose values are compared."""
    size = f"{count:,} x {count:,}, width {WIDTH}"
    peers = {name: work for name, work in PEERS.items() if find_spec(name)}
    small = embeddings(200)
    for work in peers.values():
        np.testing.assert_allclose(work(*small, categories), ours(*small, categories), atol=1e-5)
    data = embeddings(count)
    works = [partial(work, *data, categories) for work in (ours, *peers.values())]
    own, *others = in_turns(*works, rounds=1)
    for name, seconds in zip(peers, others, strict=True):
        yield Row(what, size, named(name), own, seconds, notes[name])
    for name in PEERS.keys() - peers:
        yield not_measured(what, size, name, EXTRA)


PEERS = {"mteb": by_mteb, "ranx": by_ranx}


def ratios():
    ranked = "FAISS finds the first ten for it; ours ranks all, for median and mean rank"
    yield from compared(
        "Recall at 1, 5, 10", ITEMS, 0, {"mteb": "2,000 documents at a time", "ranx": ranked}
    )
    whole = "whole rankings in dictionaries: larger sizes take gigabytes"
    yield from compared(
        f"mAP, {CATEGORIES} categories", FEW, CATEGORIES, dict.fromkeys(PEERS, whole)
    )


if __name__ == "__main__":
    show(ratios())
