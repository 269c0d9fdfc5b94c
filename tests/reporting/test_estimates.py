import numpy as np
import pytest
from scipy import stats

from crossmodal.reporting.estimates import Estimate, difference, holm


def estimate(rng, values, error=1.0, deterministic=False):
    draws = {seed: value + error * rng.standard_normal(2000) for seed, value in values.items()}
    return Estimate(values, draws, deterministic)


def test_error_over_items_averages_the_seeds_first(rng):
    draws = rng.standard_normal(2000)
    same = Estimate({0: 0.0, 1: 0.0}, {0: draws, 1: draws})
    assert same.error == pytest.approx(draws.std())
    assert Estimate({0: 0.0, 1: 0.0}, {0: draws, 1: -draws}).error == pytest.approx(0)


def test_difference_is_taken_on_shared_seeds(rng):
    first, second = estimate(rng, {0: 1.0, 1: 5.0}), estimate(rng, {1: 2.0, 2: 9.0})
    assert difference(first, second).value == 3.0
    assert difference(second, first).value == -3.0


def test_difference_takes_a_deterministic_number_for_every_seed(rng):
    fixed = estimate(rng, {0: 1.0}, deterministic=True)
    other = estimate(rng, {0: 2.0, 1: 3.0, 2: 4.0})
    assert difference(other, fixed).value == 2.0
    assert difference(fixed, other).value == -2.0
    assert difference(fixed, other).count == 3


def test_interval_over_seeds_alone_is_that_of_a_paired_t_test():
    first, second = {0: 1.0, 1: 2.5, 2: 3.0}, {0: 0.5, 1: 1.0, 2: 2.0}
    low, high = difference(Estimate(first), Estimate(second)).interval()
    expected = stats.ttest_rel([*first.values()], [*second.values()]).confidence_interval()
    assert (low, high) == pytest.approx((expected.low, expected.high))


def test_interval_over_items_alone_is_normal(rng):
    found = difference(estimate(rng, {0: 2.0}), estimate(rng, {0: 0.0}))
    assert found.items == pytest.approx(2**0.5, rel=0.1)
    assert found.interval() == pytest.approx(
        (2 - 1.959964 * found.items, 2 + 1.959964 * found.items)
    )
    assert found.p == pytest.approx(2 * stats.norm.sf(2 / found.items))


def test_interval_over_both_lies_between_its_parts_and_their_sum(rng):
    first = estimate(rng, {0: 1.0, 1: 2.0, 2: 4.0}, error=0.5)
    found = difference(first, estimate(rng, {0: 0.0, 1: 0.0, 2: 0.0}, error=0.5))
    assert found.error == pytest.approx(np.hypot(found.items, found.seeds))
    assert 1.96 < found.quantile < stats.t.isf(0.025, 2)


def test_difference_without_errors_has_no_interval():
    assert difference(Estimate({0: 2.0}), Estimate({0: 1.0})).interval() is None


def test_holm_stops_at_the_first_that_is_not_significant():
    assert holm({"a": 0.01, "b": 0.02, "c": 0.04}) == {"a", "b", "c"}
    assert holm({"a": 0.01, "b": 0.03, "c": 0.04}) == {"a"}
    assert holm({"a": 0.02, "b": 0.001}) == {"a", "b"}
    assert holm({}) == set()
