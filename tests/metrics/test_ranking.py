"""The expectation over ties is checked against every permutation, the rest against other code."""

from itertools import permutations, product

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score
from torchmetrics.functional.retrieval import (
    retrieval_average_precision,
    retrieval_hit_rate,
    retrieval_precision,
)
from torchmetrics.retrieval import RetrievalMAP

from crossmodal.errors import CrossmodalError
from crossmodal.metrics.ranking import (
    average_precision,
    first_rank,
    precision_at,
    recall_at,
)

DOCUMENTS = 5
RELEVANCES = np.array(list(product([False, True], repeat=DOCUMENTS)))  # (32, 5)
ORDERS = np.array(list(permutations(range(DOCUMENTS))))  # (120, 5)
SCORES = np.array(list(product([0.0, 1.0, 2.0], repeat=DOCUMENTS)))  # (243, 5)
CUTOFFS = [None, *range(1, DOCUMENTS + 2)]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def distinct_scores(rng, queries, documents):
    """Positive and negative scores without ties."""
    row = np.linspace(-1, 1, documents, dtype=np.float32)
    return rng.permuted(np.tile(row, (queries, 1)), axis=1)


def share_a_label(rng, queries, documents, classes=6):
    labels = rng.random((queries, classes)) < 0.2, rng.random((documents, classes)) < 0.2
    return (labels[0][:, None] & labels[1]).any(axis=2)


def shuffled(scores):
    """Relevance (shuffles, 32, 5) at each rank, for every order that respects the scores."""
    respected = (np.diff(scores[ORDERS], axis=1) <= 0).all(axis=1)
    return RELEVANCES[:, ORDERS[respected]].swapaxes(0, 1)


def textbook_average_precision(ranked, cutoff):
    ranked = ranked[..., :cutoff]
    precision = ranked.cumsum(-1) / np.arange(1, ranked.shape[-1] + 1)
    return (precision * ranked).sum(-1) / np.maximum(ranked.sum(-1), 1)


def looped_average_precision(scores, relevant, cutoff=None):
    found, total = 0, 0.0
    for rank, document in enumerate(sorted(range(len(scores)), key=lambda d: -scores[d])[:cutoff]):
        if relevant[document]:
            found += 1
            total += found / (rank + 1)
    return total / found if found else 0.0


def tie_group_formula(before, hits_before, size, hits):
    """The sum as the specification writes it, term by term."""
    total = 0.0
    for j in range(1, size + 1):
        rest = (j - 1) * (hits - 1) / (size - 1) if size > 1 else 0
        total += hits / size * (hits_before + 1 + rest) / (before + j)
    return total


@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_average_precision_is_the_mean_over_all_shuffles_of_ties(cutoff):
    for scores in SCORES:
        expected = textbook_average_precision(shuffled(scores), cutoff).mean(axis=0)  # (32,)
        found = average_precision(np.tile(scores, (32, 1)), RELEVANCES, cutoff)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("k", range(1, DOCUMENTS + 2))
def test_recall_and_precision_average_all_tie_orders(k):
    for scores in SCORES:
        ranked = shuffled(scores)[..., :k]
        tiled = np.tile(scores, (32, 1))
        recall = ranked.any(axis=2).mean(axis=0)
        np.testing.assert_allclose(recall_at(k, tiled, RELEVANCES), recall, atol=1e-14)
        precision = ranked.sum(axis=2).mean(axis=0) / k
        np.testing.assert_allclose(precision_at([k], tiled, RELEVANCES)[:, 0], precision)


def test_first_rank_is_mean_or_worst_of_all_tie_orders():
    for scores in SCORES:
        ranked = shuffled(scores)
        rank = np.where(ranked.any(axis=2), ranked.argmax(axis=2) + 1, np.inf)
        tiled = np.tile(scores, (32, 1))
        np.testing.assert_allclose(first_rank(tiled, RELEVANCES), rank.mean(axis=0))
        worst = first_rank(tiled, RELEVANCES, pessimistic=True)
        np.testing.assert_array_equal(worst, rank.max(axis=0))


@pytest.mark.parametrize("levels", [(-np.inf, 0.0, np.inf), (-3e38, -1e-45, 1e-45)])
@pytest.mark.parametrize("cutoff", [None, 3])
def test_metrics_depend_on_order_alone_at_float32_extremes(levels, cutoff):
    scores = np.repeat(SCORES, 32, axis=0)
    relevant = np.tile(RELEVANCES, (len(SCORES), 1))
    extreme = np.array(levels, np.float32)[scores.astype(int)]
    for metric in (
        lambda s: average_precision(s, relevant, cutoff),
        lambda s: first_rank(s, relevant),
    ):
        np.testing.assert_array_equal(metric(extreme), metric(scores))


@pytest.mark.parametrize("cutoff", [None, 2])
def test_negative_zero_ties_with_zero(rng, cutoff):
    relevant = rng.random((30, 8)) < 0.4
    zeros = np.where(rng.random((30, 8)) < 0.5, -0.0, 0.0).astype(np.float32)
    plain = np.zeros_like(zeros)
    found = average_precision(zeros, relevant, cutoff)
    np.testing.assert_array_equal(found, average_precision(plain, relevant, cutoff))
    np.testing.assert_array_equal(recall_at(2, zeros, relevant), recall_at(2, plain, relevant))
    np.testing.assert_array_equal(first_rank(zeros, relevant), first_rank(plain, relevant))


@pytest.mark.parametrize("cutoff", [None, 50])
def test_average_precision_agrees_with_torchmetrics(rng, cutoff):
    scores, relevant = distinct_scores(rng, 40, 200), share_a_label(rng, 40, 200)
    positive = torch.from_numpy(scores - scores.min() + 1)  # torchmetrics drops scores <= 0
    target = torch.from_numpy(relevant)
    peer = [
        retrieval_average_precision(s, t, top_k=cutoff).item()
        for s, t in zip(positive, target, strict=True)
    ]
    found = average_precision(scores, relevant, cutoff)
    np.testing.assert_allclose(found, peer, atol=1e-6)
    indexes = torch.arange(40).repeat_interleave(200)
    mean = RetrievalMAP(top_k=cutoff, empty_target_action="neg")(
        positive.flatten(), target.flatten(), indexes
    )
    assert found.mean() == pytest.approx(mean.item(), abs=1e-6)


@pytest.mark.parametrize("k", [1, 10, 100])
def test_recall_and_precision_agree_with_torchmetrics(rng, k):
    scores, relevant = distinct_scores(rng, 40, 100), share_a_label(rng, 40, 100)
    pairs = list(zip(torch.from_numpy(scores + 2), torch.from_numpy(relevant), strict=True))
    hit_rate = [retrieval_hit_rate(s, t, top_k=k).item() for s, t in pairs]
    np.testing.assert_array_equal(recall_at(k, scores, relevant), hit_rate)
    precision = [retrieval_precision(s, t, top_k=k).item() for s, t in pairs]
    np.testing.assert_allclose(precision_at([k], scores, relevant)[:, 0], precision, atol=1e-6)


def test_average_precision_agrees_with_sklearn_without_ties(rng):
    scores, relevant = distinct_scores(rng, 30, 150), rng.random((30, 150)) < 0.1
    relevant[:, 0] = True
    peer = [average_precision_score(r, s) for r, s in zip(relevant, scores, strict=True)]
    np.testing.assert_allclose(average_precision(scores, relevant), peer, rtol=1e-12)


@pytest.mark.parametrize("cutoff", [None, 1, 7, 60, 1000])
def test_average_precision_agrees_with_a_double_loop(rng, cutoff):
    scores, relevant = distinct_scores(rng, 30, 60), share_a_label(rng, 30, 60)
    looped = [looped_average_precision(s, r, cutoff) for s, r in zip(scores, relevant, strict=True)]
    np.testing.assert_allclose(average_precision(scores, relevant, cutoff), looped, rtol=1e-12)


def test_average_precision_of_a_list_worked_by_hand():
    scores = np.array([[5.0, 4, 3, 2, 1]])
    relevant = np.array([[True, False, True, True, False]])
    assert average_precision(scores, relevant) == pytest.approx((1 + 2 / 3 + 3 / 4) / 3)
    assert average_precision(scores, relevant, 2) == 1  # of the one found, not 1/3 of all
    np.testing.assert_allclose(precision_at([1, 2, 4], scores, relevant), [[1, 1 / 2, 3 / 4]])


@pytest.mark.parametrize(("documents", "hits"), [(1, 1), (10, 3), (200, 20), (7, 7)])
def test_perfect_and_reversed_rankings_have_closed_forms(documents, hits):
    relevant = (np.arange(documents) < hits)[None]
    scores = -np.arange(documents, dtype=np.float32)[None]
    assert average_precision(scores, relevant) == pytest.approx(1)
    i = np.arange(1, hits + 1)
    reversed_value = (i / (documents - hits + i)).mean()
    assert average_precision(-scores, relevant) == pytest.approx(reversed_value)
    assert first_rank(-scores, relevant) == documents - hits + 1


@pytest.mark.parametrize("cutoff", [None, 20])
def test_metrics_ignore_monotone_maps_and_document_order(rng, cutoff):
    scores, relevant = rng.integers(-9, 9, (50, 100)), rng.random((50, 100)) < 0.1
    order = rng.permutation(100)

    def metrics(scores, relevant):
        ap = average_precision(scores, relevant, cutoff)
        return np.stack([ap, recall_at(5, scores, relevant), first_rank(scores, relevant)])

    plain = metrics(scores.astype(np.float32), relevant)
    np.testing.assert_array_equal(metrics(np.exp(scores / 4), relevant), plain)
    np.testing.assert_array_equal(metrics(scores.astype(float) ** 3 - 7, relevant), plain)
    np.testing.assert_array_equal(metrics(scores[:, order], relevant[:, order]), plain)


@pytest.mark.parametrize("documents", [1, 20, 3000])
def test_equal_scores_give_chance(documents):
    hits = max(1, documents // 10)
    relevant = (np.arange(documents) < hits)[None]  # stored first: index order would score 1
    scores = np.zeros((1, documents), np.float32)
    expected = tie_group_formula(0, 0, documents, hits) / hits
    assert average_precision(scores, relevant) == pytest.approx(expected, rel=1e-12)
    assert precision_at([1], scores, relevant) == pytest.approx(hits / documents)
    one = np.arange(documents)[None] == documents // 2
    for k in (1, 5, documents, documents + 1):
        assert recall_at(k, scores, one) == pytest.approx(min(k / documents, 1), rel=1e-12)


def test_tie_groups_deep_in_a_long_ranking_keep_their_precision():
    scores = np.arange(60_000) // 3  # groups of three, the first stored last
    relevant = np.arange(60_000) % 3 == 0
    groups = range(20_000)
    expected = sum(tie_group_formula(3 * g, g, 3, 1) for g in groups) / len(groups)
    found = average_precision(scores[None].astype(np.float32), relevant[None])
    assert found == pytest.approx(expected, rel=1e-9)


def test_cut_through_many_ties_equals_the_mean_of_draws(rng):
    scores = np.append(np.ones(10), np.zeros(3000))[None]
    relevant = (np.arange(3010) % 7 == 0)[None]
    expected = average_precision(scores, relevant, 50)[0]
    untied = scores + rng.permuted(np.tile(np.linspace(0, 0.5, 3010), (4000, 1)), axis=1)
    draws = average_precision(untied, np.repeat(relevant, 4000, axis=0), 50)
    assert draws.mean() == pytest.approx(expected, abs=5 * draws.std() / np.sqrt(len(draws)))


def test_query_without_relevant_document_counts_as_a_miss():
    scores = np.array([[0.0, -np.inf, 1.0]])
    nothing = np.zeros((1, 3), bool)
    assert average_precision(scores, nothing) == average_precision(scores, nothing, 2) == 0
    assert recall_at(3, scores, nothing) == 0
    assert first_rank(scores, nothing) == first_rank(scores, nothing, pessimistic=True) == np.inf


def test_relevant_document_at_minus_infinity_is_still_ranked():
    scores = np.array([[0.0, -np.inf, 1.0, -np.inf]])
    relevant = np.array([[False, True, False, False]])
    assert first_rank(scores, relevant) == 3.5
    assert recall_at(3, scores, relevant) == 0.5


@pytest.mark.parametrize(
    "metric",
    [
        average_precision,
        lambda s, r: average_precision(s, r, 2),
        lambda s, r: recall_at(1, s, r),
        lambda s, r: precision_at([1], s, r),
        first_rank,
    ],
)
def test_nan_and_mismatched_shapes_are_refused(metric):
    relevant = np.eye(3, dtype=bool)
    scores = np.array([[np.inf, -np.inf, 0], [1, np.nan, 0], [0, 0, 0]])
    with pytest.raises(CrossmodalError, match="1 of 9 scores are NaN"):
        metric(scores, relevant)
    with pytest.raises(CrossmodalError, match=r"\(3, 2\)"):
        metric(scores[:, :2], relevant)


@pytest.mark.parametrize(
    "metric",
    [
        lambda s, r: average_precision(s, r, 0),
        lambda s, r: recall_at(0, s, r),
        lambda s, r: precision_at([5, 0], s, r),
    ],
)
def test_depth_zero_is_refused(metric):
    with pytest.raises(CrossmodalError, match="depth of a ranking is 0"):
        metric(np.zeros((2, 2)), np.eye(2, dtype=bool))
