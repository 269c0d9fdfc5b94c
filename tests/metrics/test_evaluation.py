"""Metrics agree with other libraries where scores do not tie, and with all orders where they do."""

from itertools import permutations, product

import ir_measures
import numpy as np
import pytest
import torch
from ir_measures import AP, RR, Qrel, Rprec, ScoredDoc, nDCG
from scipy import sparse
from sklearn.metrics import ndcg_score
from torchmetrics.functional.retrieval import (
    retrieval_normalized_dcg,
    retrieval_r_precision,
    retrieval_reciprocal_rank,
)

import crossmodal
from crossmodal.errors import CrossmodalError
from crossmodal.metrics.evaluation import evaluate
from crossmodal.metrics.graded_ranking import (
    average_precision_at_r,
    ndcg_at,
    r_precision,
    reciprocal_rank,
)
from crossmodal.metrics.ranking import first_hit
from crossmodal.metrics.resampling import resampled_means

QUERIES, DOCUMENTS = 30, 40
OWN = ("mAP", "mAP@50", "mAP@R", "R-precision", "MRR", "nDCG@10", "R@1", "R@10", "MeanR")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def graded(rng):
    """Scores without ties, and grades of 0 to 3."""
    scores = rng.permuted(np.tile(np.linspace(-1, 1, DOCUMENTS), (QUERIES, 1)), axis=1)
    return scores, rng.choice(4, (QUERIES, DOCUMENTS), p=[0.8, 0.1, 0.05, 0.05])


def test_values_agree_with_ir_measures(graded):
    scores, grades = graded
    found = evaluate(scores, relevance=grades).metrics
    qrels = [Qrel(f"{q}", f"{d}", int(g)) for (q, d), g in np.ndenumerate(grades)]
    run = [ScoredDoc(f"{q}", f"{d}", float(s)) for (q, d), s in np.ndenumerate(scores)]
    measures = {AP: "mAP", RR: "MRR", Rprec: "R-precision", nDCG @ 10: "nDCG@10"}
    theirs = ir_measures.calc_aggregate([*measures], qrels, run)
    assert (grades > 0).any(axis=1).all()
    for measure, name in measures.items():
        assert found[name] == pytest.approx(theirs[measure], abs=1e-6), name


def test_values_of_queries_agree_with_torchmetrics(graded):
    scores, grades = map(torch.tensor, graded)
    own = evaluate(*graded[:1], relevance=graded[1]).per_query
    for row in range(QUERIES):
        s, g = scores[row], grades[row]
        theirs = {
            "MRR": retrieval_reciprocal_rank(s, g > 0),
            "R-precision": retrieval_r_precision(s, g > 0),
            "nDCG@10": retrieval_normalized_dcg(s, g, top_k=10),
        }
        for name, value in theirs.items():
            assert own[name][row] == pytest.approx(float(value), abs=1e-6), name


@pytest.mark.parametrize("levels", [3, 10, 1000])
def test_ndcg_agrees_with_scikit_learn_also_under_ties(rng, levels):
    scores, grades = rng.integers(levels, size=(50, 20)), rng.integers(4, size=(50, 20))
    for k in (1, 5, 20, 30):
        theirs = [ndcg_score(grades[None, q], scores[None, q], k=k) for q in range(50)]
        assert ndcg_at(k, scores, grades) == pytest.approx(theirs)


def of_order(grades):
    """Each metric of grades in the order of their ranks, by definition."""
    relevant = grades > 0
    count, ranks = relevant.sum(), np.arange(1, len(grades) + 1)
    if not count:
        return np.zeros(4)
    precision = np.cumsum(relevant) / ranks
    gain = (grades / np.log2(ranks + 1))[:3].sum()
    best = (np.sort(grades)[::-1] / np.log2(ranks + 1))[:3].sum()
    return np.array(
        [
            1 / ranks[relevant][0],
            relevant[:count].mean(),
            (precision * relevant)[:count].sum() / count,
            gain / best,
        ]
    )


def test_ties_count_as_the_mean_of_all_their_orders():
    every = [np.array(each) for each in product([0, 1, 2], repeat=4)]
    for scores in (np.array(each, float) for each in product([0, 1], repeat=4)):
        orders = [np.array(o) for o in permutations(range(4)) if (np.diff(scores[[*o]]) <= 0).all()]
        for grades in every:
            expected = np.mean([of_order(grades[order]) for order in orders], axis=0)
            s, g = scores[None], grades[None]
            found = (
                reciprocal_rank(first_hit(s, g > 0)),
                r_precision(s, g > 0),
                average_precision_at_r(s, g > 0),
                ndcg_at(3, s, g),
            )
            assert np.concatenate(found) == pytest.approx(expected)


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int8])
def test_scores_of_any_type_of_numbers_rank_alike(rng, kind):
    scores, grades = rng.integers(-128, 128, (6, 9)).astype(kind), rng.integers(0, 3, (6, 9))
    found = [evaluate(of, relevance=grades).metrics for of in (scores, scores.astype(float))]
    assert found[0] == pytest.approx(found[1])


def test_map_at_r_is_that_of_the_example_of_its_authors():
    # Musgrave et al. 2020: ten relevant, those at ranks 1 and 10 retrieved among the first ten
    scores = np.arange(30, 0, -1.0)[None]
    relevant = np.zeros((1, 30), bool)
    relevant[0, [0, 9, *range(20, 28)]] = True
    assert average_precision_at_r(scores, relevant) == pytest.approx((1 + 2 / 10) / 10)


def test_relevance_may_be_said_in_any_way(rng):
    labels = rng.integers(3, size=QUERIES), rng.integers(3, size=DOCUMENTS)
    queries, gallery = rng.normal(size=(QUERIES, 8)), rng.normal(size=(DOCUMENTS, 8))
    matrix = labels[0][:, None] == labels[1]
    ids = [f"q{n}" for n in range(QUERIES)], [f"d{n}" for n in range(DOCUMENTS)]
    qrels = {
        q: {d: 1 for d, answers in zip(ids[1], row, strict=True) if answers}
        for q, row in zip(ids[0], matrix, strict=True)
    }
    texts = tuple(np.array(["sea", "dog", "cat"])[side] for side in labels)
    columns = tuple(np.eye(3, dtype=bool)[side] for side in labels)
    first = evaluate(queries, gallery, matrix)
    for relevance in (labels, texts, columns, sparse.csr_array(matrix.astype(int)), qrels):
        other = evaluate(queries, gallery, relevance, ids=ids)
        assert (other.metrics, other.intervals) == (first.metrics, first.intervals)


def test_pairs_are_relevant_where_nothing_else_is_said(rng):
    queries, gallery = rng.normal(size=(2, QUERIES, 8))
    ids = np.arange(QUERIES)
    assert evaluate(queries, gallery).metrics == evaluate(queries, gallery, (ids, ids)).metrics
    with pytest.raises(CrossmodalError, match="30 queries and 29 documents are no pairs"):
        evaluate(queries, gallery[1:])


def test_embeddings_are_ranked_by_cosine_or_inner_product(rng):
    queries, gallery = rng.normal(size=(2, QUERIES, 8))
    lengths = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(gallery, axis=1)
    expected = {"inner": queries @ gallery.T, "cosine": queries @ gallery.T / lengths}
    for score, scores in expected.items():
        found = evaluate(queries, gallery, score=score).metrics
        assert found == evaluate(scores, relevance=np.eye(QUERIES)).metrics
    assert evaluate(queries, gallery).metrics == found


def test_codes_are_ranked_by_their_exact_distance(rng):
    bits = rng.random((2, QUERIES, 70)) < 0.5
    scores = -(bits[0][:, None] != bits[1]).sum(axis=2)
    expected = evaluate(scores, relevance=np.eye(QUERIES)).metrics
    forms = [bits, bits.astype(np.uint8), [np.packbits(side, axis=1) for side in bits]]
    for queries, gallery in forms:
        assert evaluate(queries, gallery).metrics == expected
    signs = 2.0 * bits - 1
    assert evaluate(*signs, score="hamming").metrics == expected
    with pytest.raises(CrossmodalError, match="codes have 0 and 1"):
        evaluate(*(signs * 2), score="hamming")


@pytest.mark.parametrize("threads", [1, 3])
def test_values_do_not_depend_on_the_working_memory(rng, monkeypatch, threads):
    queries, gallery = rng.integers(-3, 4, size=(QUERIES, 4)), rng.integers(-3, 4, (DOCUMENTS, 4))
    labels = rng.integers(3, size=QUERIES), rng.integers(3, size=DOCUMENTS)
    options = {"score": "inner", "draws": 0}  # whole numbers: exact in any order
    expected = evaluate(queries, gallery, labels, **options).per_query
    monkeypatch.setattr("crossmodal.metrics.scoring.TILE_BYTES", 8 * 4 * 7)
    found = evaluate(queries, gallery, labels, block_bytes=1, threads=threads, **options).per_query
    assert {**found} == {name: pytest.approx(values) for name, values in expected.items()}


def test_intervals_are_those_of_a_bootstrap_over_items(rng):
    items = np.repeat(np.arange(10), 3)
    scores = rng.normal(size=(QUERIES, 10))
    found = evaluate(scores, relevance=(items, np.arange(10)), draws=300, seed=5)
    values = {"": np.stack([found.per_query[name] for name in OWN], axis=1)}
    drawn = resampled_means({"": items}, values, draws=300, seed=5)[""]
    for place, name in enumerate(OWN):
        assert found.intervals[name] == pytest.approx(np.percentile(drawn[:, place], (2.5, 97.5)))
        low, high = found.intervals[name]
        assert low <= found.metrics[name] <= high
    assert evaluate(scores, relevance=(items, np.arange(10)), draws=0).intervals == {}


def test_queries_without_relevant_documents_find_nothing(graded):
    scores, grades = graded
    grades[:5] = 0
    found = evaluate(scores, relevance=grades)
    assert found.metrics["queries_without_relevant"] == 5
    for name in ("mAP", "MRR", "R-precision", "nDCG@10", "mAP@R", "R@10"):
        assert not found.per_query[name][:5].any()
    assert "MeanR" not in found.intervals  # without end


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"relevance": np.eye(3)}, "relevance is of \\(3, 3\\)"),
        ({"relevance": ([1, 2], ["a", "b"])}, "relevance is of|ids of queries are"),
        ({"relevance": -np.ones((4, 4))}, "a grade of relevance is -1"),
        ({"relevance": {"a": {"b": 1}}}, "give `ids` of both"),
        ({"relevance": {"a": {"e": 1}}, "ids": ("abcd", "abcd")}, "an unknown document: e"),
        ({"relevance": {"e": {"a": 1}}, "ids": ("abcd", "abcd")}, "an unknown query: e"),
        ({"relevance": {"a": {"a": 1}}, "ids": ("aacd", "abcd")}, "3 and 4 different ids"),
        ({"relevance": np.eye(4), "items": [1]}, "1 items of 4 queries"),
        (
            {"queries": np.full((4, 4), np.nan), "relevance": np.eye(4)},
            "of query 0 and document 0 is NaN",
        ),
        ({"gallery": np.eye(3), "relevance": np.ones((4, 3))}, "rows of the same width"),
        ({"queries": np.empty((0, 4)), "relevance": np.empty((0, 4))}, "give some of both"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(CrossmodalError, match=message):
        evaluate(**{"queries": np.eye(4)} | arguments)


def test_the_function_is_public():
    assert crossmodal.evaluate is evaluate
    lines = str(crossmodal.evaluate(np.eye(4))).splitlines()
    assert lines[0].split() == ["mAP", "1", "1", "to", "1"]


QRELS_IDS = (range(6), range(8))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"relevance": ([1, None, 2, 3, 4, 5], range(8))}, "of query 1 is None"),
        ({"relevance": (range(6), [np.nan] * 8)}, "of document 0 is .*nan"),
        ({"relevance": [[0], [1, 2], [3], [4], [5], [6]]}, "several lengths"),
        ({"relevance": [[*range(6)], [*range(8)]]}, "a tuple of two lists of ids"),
        ({"relevance": {0: {1: 1, 9: 1}}, "ids": QRELS_IDS}, "an unknown document: 9; leave"),
        ({"relevance": {0: [1]}, "ids": QRELS_IDS}, "query -> document -> grade"),
        ({"relevance": {0: {1: np.nan}}, "ids": QRELS_IDS}, "a grade of relevance is nan"),
        ({"relevance": {0: {1: np.inf}}, "ids": QRELS_IDS}, "a grade of relevance is inf"),
        ({"queries": sparse.csr_array(np.eye(6, 4))}, "queries: holds object; give a dense"),
        ({"gallery": np.ones((8, 4)) * 1j}, "gallery: holds complex128; give a dense"),
        ({"queries": torch.ones(6, 4, dtype=torch.bfloat16)}, "queries: .*BFloat16"),
        ({"queries": torch.ones(6, 4, requires_grad=True)}, "queries: .*detach"),
        ({"queries": np.ones((6, 0)), "gallery": np.ones((8, 0))}, "no columns"),
        ({"score": "cos"}, "'cos' is unknown; .*did you mean 'cosine'"),
        ({"gallery": None, "score": "cosine"}, "compares with a gallery"),
        ({"draws": -1}, "draws -1"),
        ({"threads": 0}, "threads 0"),
        ({"draws": 1.5}, "draws 1.5"),
        ({"seed": -1}, "seed -1"),
        ({"relevance": (range(6), range(8), range(8))}, "a tuple of 3"),
        ({"relevance": (1, 2)}, "relevance is of"),
        ({"relevance": np.full((6, 8), "high")}, "relevance holds <U4; give grades"),
        ({"relevance": (np.full((6, 1), "a"), np.full((8, 1), "a"))}, "relevance holds <U1"),
        ({"relevance": ([["a"], ["b", "c"]] * 3, [["a"]] * 8)}, "several lengths"),
        ({"relevance": (2 * np.eye(6, 3) - 1, np.eye(8, 3))}, "a label is negative or NaN; give 0"),
        ({"relevance": (np.eye(6, 3), np.full((8, 3), np.nan))}, "a label is negative or NaN"),
        (
            {"queries": np.ones((6, 4), bool), "gallery": np.ones((8, 4), np.uint8)},
            "codes are bool and uint8; give both",
        ),
        ({"relevance": {0: {1: "high"}}, "ids": QRELS_IDS}, "qrels: .* give grades as numbers"),
    ],
)
def test_what_cannot_be_compared_is_said(rng, change, message):
    given = {"queries": np.ones((6, 4)), "gallery": np.ones((8, 4)), "relevance": np.eye(6, 8)}
    with pytest.raises(CrossmodalError, match=message):
        evaluate(**given | change)


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_a_score_that_is_nan_is_named_with_its_place(rng, block_bytes):
    scores = rng.normal(size=(QUERIES, DOCUMENTS))
    scores[7, 3] = scores[9, 1] = np.nan
    with pytest.raises(CrossmodalError, match="of query 7 and document 3 is NaN"):
        evaluate(scores, relevance=np.eye(QUERIES, DOCUMENTS), block_bytes=block_bytes)


def test_ids_and_labels_may_be_of_any_container(rng):
    queries, gallery = rng.normal(size=(QUERIES, 4)), rng.normal(size=(DOCUMENTS, 4))
    sides = rng.integers(3, size=QUERIES), rng.integers(3, size=DOCUMENTS)
    names = np.array(["sea", "dog", "cat"])
    expected = evaluate(queries, gallery, sides).metrics
    containers = {
        "objects": lambda side: names[side].astype(object),
        "lists": lambda side: names[side].tolist(),
        "tensors": torch.tensor,
        "columns": lambda side: np.eye(3)[side],
        "sparse columns": lambda side: sparse.csr_array(np.eye(3)[side]),
    }
    for name, hold in containers.items():
        assert evaluate(queries, gallery, tuple(map(hold, sides))).metrics == expected, name
    numbered = {
        q: dict.fromkeys(np.flatnonzero(sides[1] == label), 1) for q, label in enumerate(sides[0])
    }
    ids = range(QUERIES), range(DOCUMENTS)
    assert evaluate(queries, gallery, numbered, ids=ids).metrics == expected


@pytest.mark.parametrize("kinds", [(np.uint64, np.int64), (object, object)])
def test_ids_of_other_types_are_told_apart(kinds):
    ids = 2**60 + np.arange(4)
    own, others = (ids.astype(kind) for kind in kinds)
    if object in kinds:
        own[0] = others[0] = "first"
    assert evaluate(np.eye(4), relevance=(own, others)).metrics["mAP@R"] == 1
    assert evaluate(1 - np.eye(4), relevance=(own, others)).metrics["R@1"] == 0


@pytest.mark.parametrize("hold", [np.asarray, torch.tensor])
def test_codes_are_codes_in_any_container(rng, hold):
    bits = rng.random((2, QUERIES, 9)) < 0.5
    expected = evaluate(*(2.0 * bits - 1), score="hamming").metrics
    assert evaluate(hold(bits[0]), hold(bits[1])).metrics == expected


@pytest.mark.parametrize(
    "scores", [np.zeros((4, 5)), np.full((4, 5), -np.inf), np.full((4, 5), np.inf)]
)
def test_constant_scores_are_worth_a_shuffle(scores):
    found = evaluate(scores, relevance=np.eye(4, 5)).metrics
    expected = np.mean(1 / np.arange(1, 6))
    assert found["mAP"] == found["MRR"] == pytest.approx(expected)
    assert found["R@1"] == pytest.approx(20)
    assert found["MedR"] == 3
