import numpy as np
import pytest
from scipy import stats

from crossmodal.reporting.estimates import Difference, Estimate, difference
from crossmodal.reporting.verdicts import verdict, verdict_of_starts


@pytest.mark.parametrize(
    ("value", "word"), [(2.0, "holds"), (-2.0, "does not hold"), (1.9, "cannot be told")]
)
def test_verdict_is_by_the_interval(value, word):
    assert verdict(Difference(value, 1.0, None, 1), 200).word == word


def test_verdict_without_an_error_asks_for_seeds():
    assert "at least 2 seeds" in verdict(Difference(5.0, None, None, 1), 200).needed
    assert verdict(Difference(5.0, None, None, 1), 200).word == "cannot be told"


def test_number_of_items_named_would_tell():
    open_ = Difference(1.0, 1.0, None, 1)
    number = int(verdict(open_, 200).needed.split()[1])
    assert verdict(Difference(1.0, (200 / number) ** 0.5, None, 1), number).word == "holds"
    fewer = Difference(1.0, (200 / (number - 1)) ** 0.5, None, 1)
    assert verdict(fewer, number - 1).word == "cannot be told"


def test_number_of_seeds_named_would_tell():
    first, second = {0: 1.0, 1: 3.0, 2: -0.5}, {0: 0.0, 1: 0.0, 2: 0.0}
    open_ = difference(Estimate(first), Estimate(second))
    number = int(verdict(open_, 200).needed.split()[1])
    assert verdict(open_, 200).needed == f"about {number} seeds would tell"
    for count, word in ((number, "holds"), (number - 1, "cannot be told")):
        error = open_.seeds * (3 / count) ** 0.5
        assert verdict(Difference(open_.value, None, error, count), 200).word == word


def test_items_and_seeds_are_named_where_both_must_grow():
    needed = verdict(Difference(1.0, 2.0, 2.0, 3), 200).needed
    items, seeds = (int(word.replace(",", "")) for word in needed.split() if word[0].isdigit())
    assert needed == f"about {items:,} test items and {seeds:,} seeds would tell"
    told = Difference(1.0, 2 * (200 / items) ** 0.5, 2 * (3 / seeds) ** 0.5, seeds)
    assert verdict(told, items).word == "holds"


def test_number_is_not_named_where_the_difference_is_none():
    assert "more than 1,000,000" in verdict(Difference(0.0, 1.0, 1.0, 3), 200).needed
    assert np.isfinite(Difference(0.0, 1.0, 1.0, 3).quantile)


@pytest.mark.parametrize(("started", "runs"), [(3, 3), (0, 2), (4, 5), (7, 10)])
def test_seeds_that_would_tell_a_share_are_the_fewest(started, runs):
    number = int(verdict_of_starts(started, runs, True).needed.split()[1])

    def told(count):
        share = started / runs
        return abs(share - 0.5) > stats.norm.isf(0.025) * (0.25 / count) ** 0.5

    assert told(number)
    assert not told(number - 1)
