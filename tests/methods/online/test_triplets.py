from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from crossmodal.errors import CrossmodalError
from crossmodal.methods._online.triplets import draw_list, draw_triplet, make_sampler

DRAWS = 20_000


def lists(sampler, length, count, seed=0):
    """Triplets (query, positive, negative) of `count` lists, each (length, 3)."""
    rng = np.random.default_rng(seed)
    pairs = np.empty((length, 2), int)
    for step in range(count):
        query, found = draw_list(sampler, step, rng, pairs)
        yield [(query, positive, negative) for positive, negative in pairs[:found]]


def assert_uniform(drawn, possible):
    counts = Counter(drawn)
    assert set(counts) <= set(possible)
    assert chisquare([counts[p] for p in possible]).pvalue > 1e-4


@pytest.fixture
def classes():
    return np.eye(4, dtype=bool)[np.repeat([0, 1, 2, 3], [5, 10, 2, 13])]


@pytest.fixture
def multi():
    labels = np.random.default_rng(5).random((40, 6)) < 0.3
    labels[:2] = False  # two items without labels
    return labels


def test_single_label_triplets_are_uniform(classes):
    drawn = [t for ts in lists(make_sampler(classes, classes), 1, DRAWS) for t in ts]
    assert_uniform([q for q, _, _ in drawn], range(30))
    of_first = [(p, n) for q, p, n in drawn if q < 5]
    assert_uniform([p for p, _ in of_first], range(5))
    assert_uniform([n for _, n in of_first], range(5, 30))


@pytest.mark.parametrize("strict", [True, False])
def test_multi_label_pairs_are_uniform_over_all_allowed_pairs(multi, strict):
    query = 7
    shares = (multi & multi[query]).sum(axis=1)
    labelled = np.flatnonzero(multi.any(axis=1))
    allowed = [
        (p, n)
        for p in labelled
        for n in labelled
        if shares[p] > shares[n] and (shares[n] == 0 or not strict)
    ]
    assert len(set(shares)) > 2  # or the two kinds would not differ
    sampler, rng = make_sampler(multi, multi), np.random.default_rng(1)
    drawn = [draw_triplet(sampler, query, strict, rng) for _ in range(DRAWS)]
    assert_uniform(drawn, allowed)


def test_published_plain_pairs_uniform_over_shared_labels(multi):
    query = 7
    shares = (multi & multi[query]).sum(axis=1)
    allowed = [(p, n) for p in range(40) for n in range(40) if shares[p] > shares[n] > 0]
    assert allowed
    sampler, rng = make_sampler(multi, multi, "published"), np.random.default_rng(1)
    assert_uniform([draw_triplet(sampler, query, False, rng) for _ in range(DRAWS)], allowed)
    strict = [draw_triplet(sampler, query, True, rng) for _ in range(100)]
    assert all(shares[n] == 0 < shares[p] for p, n in strict)


def test_published_pairs_same_where_labels_are_single(classes):
    released, published = (
        list(lists(make_sampler(classes, classes, kind), 4, 100))
        for kind in ("released", "published")
    )
    assert released == published


@pytest.mark.parametrize("length", [2, 4, 5])
def test_only_the_first_half_of_a_list_rounded_down_is_strict(multi, length):
    first_plain_overlaps = 0
    for triplets in lists(make_sampler(multi, multi), length, 500):
        shares = [
            ((multi[q] & multi[p]).sum(), (multi[q] & multi[n]).sum()) for q, p, n in triplets
        ]
        assert len(shares) == length
        assert all(more > less for more, less in shares)
        assert all(less == 0 for _, less in shares[: length // 2])
        first_plain_overlaps += shares[length // 2][1] > 0
    assert first_plain_overlaps > 0


def test_lists_of_one_triplet_are_plain_and_strict_by_turns(multi):
    overlaps = [0, 0]
    for step, [(q, _, n)] in enumerate(lists(make_sampler(multi, multi), 1, 2000)):
        overlaps[step % 2] += (multi[q] & multi[n]).any()
    assert overlaps[0] > 0
    assert overlaps[1] == 0


def test_items_without_labels_are_never_drawn(multi):
    drawn = np.array([t for ts in lists(make_sampler(multi, multi), 4, 2000) for t in ts])
    assert not np.isin([0, 1], drawn).any()


def test_queries_without_positive_or_negative_are_dropped():
    documents = np.array([[1, 1, 0], [1, 0, 0]], bool)
    queries = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    assert make_sampler(queries, documents).queries.tolist() == [1]


def test_queries_agree_with_a_loop_over_documents(multi):
    shares = multi.astype(int) @ multi[multi.any(axis=1)].T
    expected = [q for q, row in enumerate(shares) if row.max() > 0 and row.min() == 0]
    assert make_sampler(multi, multi).queries.tolist() == expected


def test_labels_of_one_kind_only_are_an_error():
    with pytest.raises(CrossmodalError, match="none of 3 queries"):
        make_sampler(np.ones((3, 1), bool), np.ones((5, 1), bool))


def test_the_search_for_an_impossible_negative_ends(classes):
    sampler = make_sampler(classes, classes)
    hopeless = sampler._replace(documents=np.arange(5), queries=np.arange(5))  # one class only
    assert draw_triplet(hopeless, 0, True, np.random.default_rng(0)) == (-1, -1)
    assert list(lists(hopeless, 4, 2)) == [[], []]
