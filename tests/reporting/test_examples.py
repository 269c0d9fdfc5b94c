from types import SimpleNamespace

import numpy as np
import pytest

from crossmodal.metrics.retrieval import Pool
from crossmodal.reporting.examples import QUERIES, RESULTS, draw_examples, retrieve


def dot(queries, gallery):
    return lambda rows: queries.embeddings[rows] @ gallery.embeddings.T


def draw(queries, gallery, by_label, seed=0):
    model = SimpleNamespace(
        pools=lambda *_: (queries, gallery),
        scorer=lambda *_: dot(queries, gallery),
        by_label=by_label,
    )
    return draw_examples(retrieve(model, ("image", "text")), seed)


@pytest.fixture
def sides(rng):
    """40 queries and 80 documents, two of each query's item; 4 labels."""
    labels = np.eye(4, dtype=bool)[np.arange(40) % 4]
    latent = rng.standard_normal((40, 6))
    queries = Pool(latent, np.arange(40), labels)
    documents = latent.repeat(2, axis=0) + rng.standard_normal((80, 6))
    return queries, Pool(documents, np.arange(40).repeat(2), labels.repeat(2, axis=0))


@pytest.mark.parametrize("by_label", [True, False])
def test_results_are_the_best_documents_and_marked_by_the_task(sides, by_label):
    queries, gallery = sides
    order = np.argsort(-dot(queries, gallery)(slice(None)), axis=1)
    key = np.arange(40) % 4 if by_label else np.arange(40)
    for examples in draw(queries, gallery, by_label).values():
        assert len(examples) == QUERIES
        for example in examples:
            assert example.results == order[example.query, :RESULTS].tolist()
            right = key.repeat(2)[order[example.query]] == key[example.query]
            assert example.right == right[:RESULTS].tolist()
            assert example.rank == right.argmax() + 1
            assert gallery.items[example.pair] == example.query


def test_failures_have_the_latest_first_right_result(sides):
    queries, gallery = sides
    failures = [e.rank for e in draw(queries, gallery, False)["failures"]]
    order = np.argsort(-dot(queries, gallery)(slice(None)), axis=1)
    ranks = (gallery.items[order] == queries.items[:, None]).argmax(axis=1) + 1
    assert failures == sorted(ranks, reverse=True)[:QUERIES]


def test_the_seed_draws_the_queries(sides):
    first, again, other = (
        [e.query for e in draw(*sides, True, seed)["random"]] for seed in (0, 0, 1)
    )
    assert first == again != other
    assert len(set(first)) == QUERIES


def test_what_is_found_at_once_or_cannot_be_found_is_no_failure(sides):
    queries, _ = sides
    labels = queries.labels.copy()
    labels[:5] = False  # relevant to nothing
    pool = Pool(queries.embeddings, queries.items, labels)
    exact = Pool(10 * np.eye(40), queries.items, labels)
    assert draw(exact, exact, True)["failures"] == []
    assert all(e.query >= 5 for e in draw(pool, pool, True)["failures"])


def test_a_small_gallery_is_shown_whole():
    pool = Pool(np.eye(3), np.arange(3), None)
    examples = draw(pool, pool, False)["random"]
    assert [sorted(e.results) for e in examples] == [[0, 1, 2]] * 3
