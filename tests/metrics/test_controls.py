import numpy as np
import pytest

from crossmodal.metrics.controls import controls, spread_of_chance
from crossmodal.metrics.retrieval import Pool

ITEMS, CLASSES = 500, 10
DEPTHS = (1, 5, 10)


def pairs(order=slice(None)):
    """One text per image, stored by class, so that index order would leak the truth."""
    items = np.arange(ITEMS)[order]
    labels = np.eye(CLASSES, dtype=bool)[items * CLASSES // ITEMS]
    return Pool(np.zeros((ITEMS, 1), np.float32), items, labels)


@pytest.fixture(scope="module")
def found():
    return controls(pairs(), pairs(), seed=0)


def test_perfect_scorer_reaches_the_upper_bound(found):
    perfect = found["perfect"]
    assert perfect["mAP"] == pytest.approx(1)
    assert perfect["mAP@50"] == pytest.approx(1)
    for k in DEPTHS:
        assert perfect[f"R@{k}"] == perfect[f"R@{k}_pessimistic"] == 100
    assert perfect["MedR"] == perfect["MeanR"] == 1


def test_perfect_scorer_reaches_the_bound_of_five_captions():
    images = Pool(np.zeros((20, 1)), np.arange(20))
    captions = Pool(np.zeros((100, 1)), np.arange(20).repeat(5))
    for direction in ((images, captions), (captions, images)):
        perfect = controls(*direction, seed=0)["perfect"]
        assert perfect["R@1_pessimistic"] == 100
        assert perfect["MeanR"] == 1


def test_constant_scorer_gets_chance_and_no_pessimistic_credit(found):
    constant = found["constant"]
    for k in DEPTHS:
        assert constant[f"R@{k}"] == pytest.approx(100 * k / ITEMS)
        assert constant[f"R@{k}_pessimistic"] == 0
    assert constant["MeanR"] == (ITEMS + 1) / 2
    assert constant["MedR"] == ITEMS // 2
    assert constant["MedR_pessimistic"] == ITEMS


def test_constant_scorer_gets_chance_recall_with_five_captions():
    images = Pool(np.zeros((20, 1)), np.arange(20))
    captions = Pool(np.zeros((100, 1)), np.arange(20).repeat(5))
    found = controls(images, captions, seed=0)["constant"]
    for k in DEPTHS:
        missed = np.prod([(95 - i) / (100 - i) for i in range(k)])
        assert found[f"R@{k}"] == pytest.approx(100 * (1 - missed))


def test_random_scorer_is_within_five_errors_of_chance(found):
    random, chance = found["random"], found["constant"]  # a constant has the mean of random scores
    for name in ("mAP", "mAP@50", *(f"R@{k}" for k in DEPTHS)):
        scale = 100 if name.startswith("R") else 1
        p = chance[name] / scale  # values in 0..1 have variance p (1 - p) at most
        assert random[name] / scale == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / ITEMS))
    error = np.sqrt((ITEMS**2 - 1) / 12 / ITEMS)
    assert random["MeanR"] == pytest.approx((ITEMS + 1) / 2, abs=5 * error)


def test_order_of_the_gallery_gives_no_scorer_an_advantage(found):
    shuffled = controls(pairs(), pairs(np.random.default_rng(0).permutation(ITEMS)), seed=0)
    for name in ("perfect", "constant"):
        assert shuffled[name] == pytest.approx(found[name])


def test_seed_decides_the_random_scores(found):
    assert controls(pairs(), pairs(), seed=0) == found
    assert controls(pairs(), pairs(), seed=1)["random"] != found["random"]


def test_the_spread_of_chance_is_that_of_many_draws():
    """Images of five captions: hits of a caption are rare, and one per query."""
    images = Pool(np.zeros((40, 1)), np.arange(40))
    captions = Pool(np.zeros((200, 1)), np.arange(40).repeat(5))
    draws = [controls(captions, images, seed)["random"] for seed in range(200)]
    spread = spread_of_chance(captions, images, np.ones(200, int))
    assert spread.keys() == {"R@1", "R@5", "R@10"}
    for name, error in spread.items():
        p = int(name[2:]) / 40
        assert error == pytest.approx(100 * np.sqrt(p * (1 - p) / 200))
        assert error == pytest.approx(np.std([draw[name] for draw in draws]), rel=0.2)


def test_spread_of_chance_of_average_precision_is_that_of_draws(rng):
    """Classes of different sizes: their expected precision differs, which is no noise."""
    labels = np.eye(2, dtype=bool)[(np.arange(40) < 4).astype(int)]
    pool = Pool(np.zeros((40, 1)), np.arange(40), labels)
    spread = spread_of_chance(pool, pool, labels.sum(axis=0)[labels.argmax(axis=1)])
    draws = [controls(pool, pool, seed)["random"] for seed in range(300)]
    for name in ("mAP", "mAP@50", "mAP@100"):
        assert spread[name] == pytest.approx(np.std([draw[name] for draw in draws]), rel=0.2)


def test_chance_spread_counts_missing_items_as_certain():
    queries, gallery = (
        Pool(np.zeros((2, 1)), np.array([1, 9])),
        Pool(np.zeros((4, 1)), np.arange(4)),
    )
    spread = spread_of_chance(queries, gallery, np.ones(2, int))
    assert spread["R@1"] == pytest.approx(100 * np.sqrt(0.25 * 0.75) / 2)
