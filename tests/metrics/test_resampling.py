import numpy as np
import pytest
from scipy import stats

from crossmodal.metrics.resampling import resampled_means


def test_resampling_agrees_with_scipy_on_single_values(rng):
    values = rng.gamma(0.5, size=(150, 1))
    drawn = resampled_means({"a": np.arange(150)}, {"a": values})["a"]
    expected = stats.bootstrap((values[:, 0],), np.mean, n_resamples=2000, rng=rng)
    assert drawn.shape == (2000, 1)
    assert drawn.std() == pytest.approx(expected.standard_error, rel=0.08)


def test_resampling_draws_the_captions_of_an_item_together(rng):
    items = rng.permutation(np.arange(40).repeat(5))
    own = rng.standard_normal(40)
    together = resampled_means({"a": items}, {"a": own[items][:, None]})["a"]
    single = resampled_means({"a": np.arange(40)}, {"a": own[:, None]})["a"]
    assert together == pytest.approx(single)


def test_resampling_weighs_items_by_their_queries():
    items = np.array([0, 1, 1, 1])
    drawn = resampled_means({"a": items}, {"a": (items == 1)[:, None].astype(float)})["a"]
    assert set(np.round(drawn[:, 0], 6)) == {0, 0.75, 1}


def test_resampling_pairs_the_directions(rng):
    values = rng.random((30, 1))
    both = {"a": np.arange(30), "b": np.arange(30)}
    drawn = resampled_means(both, {"a": values, "b": values + 1})
    assert drawn["b"] - drawn["a"] == pytest.approx(np.ones((2000, 1)))


def test_resampling_of_many_items_goes_by_blocks(rng, monkeypatch):
    monkeypatch.setattr("crossmodal.metrics.resampling.BLOCK_BYTES", 8 * 30 * 7)
    drawn = resampled_means({"a": np.arange(30)}, {"a": rng.random((30, 2))}, draws=100)["a"]
    assert drawn.shape == (100, 2)
    assert len(np.unique(drawn[:, 0])) == 100


def test_a_draw_without_a_query_has_no_mean():
    sets = {"all": np.arange(4), "judged": np.array([2])}
    drawn = resampled_means(sets, {name: of[:, None] * 1.0 for name, of in sets.items()})
    assert set(drawn["judged"][:, 0]) == {2}
    # the other three items alone are drawn with probability (3 / 4) ** 4
    assert len(drawn["all"]) == len(drawn["judged"]) == pytest.approx(2000 * 0.684, rel=0.05)
