import tracemalloc

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score
from sklearn.metrics.pairwise import cosine_similarity
from torchmetrics.functional.retrieval import retrieval_hit_rate

from crossmodal.errors import CrossmodalError
from crossmodal.metrics.retrieval import Pool, evaluate, per_query, rsum, shares_label
from crossmodal.vectors import inner_product, unit_rows

CAPTIONS = 5


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def captioned(rng):
    """Pools of 40 images and of their 200 noisy captions."""
    images = rng.standard_normal((40, 16)).astype(np.float32)
    noise = 3 * rng.standard_normal((200, 16)).astype(np.float32)
    captions = Pool(images.repeat(CAPTIONS, axis=0) + noise, np.arange(40).repeat(CAPTIONS))
    return Pool(images, np.arange(40)), captions


@pytest.fixture
def labelled(rng):
    """Pools of 300 and 260 rows of small integers: dot products are exact and often tied."""

    def pool(rows):
        embeddings = rng.integers(-2, 3, (rows, 4)).astype(np.float32)
        return Pool(embeddings, np.arange(rows), rng.random((rows, 5)) < 0.3)

    return pool(300), pool(260)


def dot(queries, gallery):
    return queries @ gallery.T


def looped_ranks(scores, own):
    """Zero-based rank of the first own document of each query, by sorting, as VSE++ does."""
    ranks = []
    for query, row in enumerate(scores):
        order = np.argsort(row)[::-1]
        ranks.append(min(int(np.flatnonzero(order == document)[0]) for document in own[query]))
    return np.array(ranks)


@pytest.mark.parametrize("direction", ["image to text", "text to image"])
def test_ranks_with_five_captions_follow_the_sorting_loop(captioned, direction):
    images, captions = captioned
    if direction == "image to text":
        queries, gallery = images, captions
        own = np.arange(200).reshape(40, CAPTIONS)
    else:
        queries, gallery = captions, images
        own = captions.items[:, None]
    ranks = looped_ranks(cosine_similarity(queries.embeddings, gallery.embeddings), own)
    found = evaluate(queries, gallery)
    for k in (1, 5, 10):
        assert found[f"R@{k}"] == pytest.approx(100 * np.mean(ranks < k))
        assert found[f"R@{k}_pessimistic"] == found[f"R@{k}"]
    assert found["MedR"] == np.floor(np.median(ranks)) + 1
    assert found["MeanR"] == pytest.approx(ranks.mean() + 1)
    assert "mAP" not in found


def test_recall_is_the_hit_rate_of_torchmetrics(captioned):
    images, captions = captioned
    scores = torch.from_numpy(inner_product(images.embeddings, captions.embeddings)) + 2
    target = torch.from_numpy(images.items[:, None] == captions.items)
    for k in (1, 5, 10):
        peer = [
            retrieval_hit_rate(s, t, top_k=k).item() for s, t in zip(scores, target, strict=True)
        ]
        assert evaluate(images, captions)[f"R@{k}"] == pytest.approx(100 * np.mean(peer))


def test_map_agrees_with_sklearn_over_shared_labels(rng):
    labels = rng.random((80, 6)) < 0.3
    labels[:, 0] |= ~labels.any(axis=1)
    embeddings = rng.standard_normal((2, 80, 8)).astype(np.float32)
    queries, gallery = (Pool(e, np.arange(80), labels) for e in embeddings)
    scores = cosine_similarity(*embeddings)
    relevant = (labels[:, None] & labels).any(axis=2)
    peer = [average_precision_score(r, s) for r, s in zip(relevant, scores, strict=True)]
    found = evaluate(queries, gallery, cutoffs=(50, 80))
    assert found["mAP"] == pytest.approx(np.mean(peer), rel=1e-6)
    assert found["mAP@80"] == pytest.approx(found["mAP"])
    assert found["mAP@50"] != found["mAP"]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block_bytes", [1, 3_000, 50_000, 123_456, 2_000_000])
def test_block_size_and_threads_change_nothing(labelled, block_bytes, threads):
    queries, gallery = labelled

    def score_rows(rows):
        return dot(queries.embeddings[rows], gallery.embeddings)

    whole = per_query(queries, gallery, score_rows, scopes=[1, 20, 260])
    found = per_query(
        queries,
        gallery,
        score_rows,
        scopes=[1, 20, 260],
        block_bytes=block_bytes,
        threads=threads,
    )
    assert found.keys() == whole.keys()
    for name, values in whole.items():
        np.testing.assert_array_equal(found[name], values)


@pytest.mark.parametrize("classes", [1, 8, 63, 64, 65, 200])
def test_labels_in_common_are_those_of_loops_over_sets(rng, classes):
    labels = rng.random((40, classes)) < 1 / classes
    pools = [
        Pool(np.zeros((len(rows), 1)), np.arange(len(rows)), rows)
        for rows in np.split(labels, [15])
    ]
    sets = [[set(np.flatnonzero(row)) for row in pool.labels] for pool in pools]
    expected = [[bool(query & document) for document in sets[1]] for query in sets[0][3:9]]
    np.testing.assert_array_equal(shares_label(*pools, slice(3, 9)), expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_working_memory_stays_within_the_stated_bound(rng, threads):
    pools = [
        Pool(
            rng.standard_normal((2000, 16)).astype(np.float32),
            np.arange(2000),
            rng.random((2000, 10)) < 0.2,
        )
        for _ in range(2)
    ]
    bound = 8 * 2**20  # all scores at once take 16 MB
    tracemalloc.start()
    evaluate(*pools, block_bytes=bound, threads=threads)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < bound


def test_query_is_relevant_by_label_alone_and_misses_are_counted():
    labels = np.array([[1, 0], [0, 1], [0, 0]], bool)
    pool = Pool(np.eye(3, dtype=np.float32), np.arange(3), labels)
    found = evaluate(pool, pool)
    assert found["queries_without_relevant"] == 1
    assert found["mAP"] == pytest.approx(2 / 3)  # the own pair answers the labelled queries
    assert found["R@1"] == 100


def test_query_whose_item_is_missing_has_rank_infinity():
    queries = Pool(np.eye(3, dtype=np.float32), np.array([0, 1, 9]))
    found = evaluate(queries, Pool(np.eye(3, dtype=np.float32), np.arange(3)))
    assert found["queries_without_relevant"] == 1
    assert found["R@10"] == pytest.approx(200 / 3)
    assert (found["MedR"], found["MeanR"]) == (1, np.inf)


@pytest.mark.parametrize(("ranks", "median"), [([1, 4], 2), ([1, 2, 9], 2), ([3, 4, 4, 9], 4)])
def test_median_rank_is_the_floored_zero_based_median(ranks, median):
    scores = np.array([np.where(np.arange(10) < rank - 1, 2.0, 0.0) for rank in ranks])
    scores[:, 9] = 1  # the own document
    queries = Pool(scores, np.full(len(ranks), 9))
    found = evaluate(queries, Pool(np.zeros(10), np.arange(10)), lambda q, _: q)
    assert found["MedR"] == np.floor(np.median(np.array(ranks) - 1)) + 1 == median
    assert found["MeanR"] == np.mean(ranks)


def test_vectors_per_query_average_to_the_metrics(labelled):
    queries, gallery = labelled
    values = per_query(
        queries, gallery, lambda rows: dot(queries.embeddings[rows], gallery.embeddings)
    )
    found = evaluate(queries, gallery, dot)
    assert found["mAP"] == values["AP"].mean()
    assert found["mAP@50"] == values["AP@50"].mean()
    assert found["R@5"] == 100 * values["R@5"].mean()
    assert len(values["AP"]) == found["queries"] == 300
    assert found["gallery"] == 260


def test_cosine_matches_sklearn_and_is_zero_for_zero_rows(rng):
    queries = rng.standard_normal((7, 12)).astype(np.float32)
    gallery = 100 * rng.standard_normal((9, 12)).astype(np.float32)
    queries[2] = gallery[3] = 0
    scores = inner_product(queries, gallery)
    np.testing.assert_allclose(scores, cosine_similarity(queries, gallery), atol=1e-6)
    assert not scores[2].any()
    assert not scores[:, 3].any()
    assert scores.dtype == np.float32
    lengths = np.linalg.norm(unit_rows(queries), axis=1)
    np.testing.assert_allclose(lengths, np.arange(7) != 2, atol=1e-6)


def test_rsum_adds_the_recalls_of_both_directions(captioned):
    images, captions = captioned
    forth, back = evaluate(images, captions), evaluate(captions, images)
    six = [found[name] for found in (forth, back) for name in ("R@1", "R@5", "R@10")]
    assert rsum(forth, back) == pytest.approx(sum(six))
    assert rsum(evaluate(images, images), evaluate(captions, captions)) == 600


def test_diverged_embeddings_are_refused(captioned):
    images, captions = captioned
    images.embeddings[3] = np.nan
    with pytest.raises(CrossmodalError, match="NaN"):
        evaluate(images, captions)


def test_pools_that_do_not_fit_are_refused(captioned):
    images, captions = captioned
    with pytest.raises(CrossmodalError, match="'items': 3"):
        Pool(images.embeddings, np.arange(3))
    with pytest.raises(CrossmodalError, match="'labels': 2"):
        Pool(images.embeddings, images.items, np.ones((2, 1), bool))
    with pytest.raises(CrossmodalError, match="needs rows"):
        Pool(np.zeros((0, 4)), np.zeros(0, int))
    labelled = Pool(images.embeddings, images.items, np.ones((40, 1), bool))
    with pytest.raises(CrossmodalError, match="both or none"):
        evaluate(labelled, captions)


def test_precision_of_all_documents_is_the_relevant_share(labelled):
    queries, gallery = labelled

    def score_rows(rows):
        return dot(queries.embeddings[rows], gallery.embeddings)

    found = per_query(queries, gallery, score_rows, scopes=[1, len(gallery)], block_bytes=1)
    shared = (queries.labels[:, None] & gallery.labels).any(axis=2)
    assert found["precision"].shape == (len(queries), 2)
    assert found["precision"][:, 1] == pytest.approx(shared.mean(axis=1))
    assert "precision" not in per_query(queries, gallery, score_rows)
