import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from crossmodal.metrics.controls import scorers
from crossmodal.metrics.intra_modal import per_row, spread_of_chance, summary
from crossmodal.metrics.retrieval import Pool


@pytest.fixture
def pool(rng):
    """30 items with two rows each, 3 labels."""
    items = np.arange(30).repeat(2)
    labels = (rng.random((30, 3)) < 0.5)[items]
    return Pool(rng.standard_normal((60, 4)).astype(np.float32), items, labels)


def intra_modal(pool, score_rows, **options):
    return summary(per_row(pool, score_rows, **options))


def cosine(pool):
    return lambda rows: pool.embeddings[rows] @ pool.embeddings.T


def expected(pool, scores):
    """Average precision of each row by scikit-learn, among the rows of other items."""
    found = []
    for query in range(len(pool)):
        others = pool.items != pool.items[query]
        relevant = (pool.labels[others] & pool.labels[query]).any(axis=1)
        known = relevant.any()
        found.append(average_precision_score(relevant, scores[query, others]) if known else 0)
    return np.array(found)


def test_it_agrees_with_scikit_learn_on_the_rows_of_other_items(pool):
    found = intra_modal(pool, cosine(pool))
    assert found["mAP"] == pytest.approx(expected(pool, cosine(pool)(slice(None))).mean())
    assert (found["queries"], found["gallery"]) == (60, 60)


def test_spread_of_chance_is_that_of_many_draws(pool):
    draws = [intra_modal(pool, scorers(pool, pool, seed)["random"]) for seed in range(200)]
    spread = spread_of_chance(per_row(pool, cosine(pool)))
    for name in ("mAP", "mAP@50"):
        assert spread[name] == pytest.approx(np.std([draw[name] for draw in draws]), rel=0.2)


def test_the_own_item_changes_nothing_wherever_it_is_scored(pool):
    def raised(rows):
        scores = cosine(pool)(rows).copy()
        scores[pool.items[rows, None] == pool.items] = 100
        return scores

    assert intra_modal(pool, raised) == intra_modal(pool, cosine(pool))


def test_the_size_of_blocks_changes_nothing(pool):
    whole, blocks = (intra_modal(pool, cosine(pool), block_bytes=b) for b in (2**20, 2**12))
    assert whole == pytest.approx(blocks)
