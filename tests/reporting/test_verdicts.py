import numpy as np
import pytest

from crossmodal.reporting.estimates import Difference, Estimate, difference
from crossmodal.reporting.verdicts import verdict


@pytest.mark.parametrize(
    ("value", "word"), [(2.0, "holds"), (-2.0, "does not hold"), (1.9, "cannot be told")]
)
def test_verdict_is_by_the_interval(value, word):
    assert verdict(Difference(value, 1.0, None, 1), 200).word == word


def test_verdict_without_a_run_or_an_error_is_none():
    assert verdict(None, 200).word == "not run"
    assert verdict(Difference(5.0, None, None, 1), 200).word == "cannot be told"


def test_number_of_items_named_would_tell():
    open_ = Difference(1.0, 1.0, None, 1)
    number = int(verdict(open_, 200).needed.split()[1])
    assert verdict(Difference(1.0, (200 / number) ** 0.5, None, 1), number).word == "holds"
    fewer = Difference(1.0, (200 / (number - 1)) ** 0.5, None, 1)
    assert verdict(fewer, number - 1).word == "cannot be told"


def test_seeds_are_named_where_items_do_not_help():
    first, second = {0: 1.0, 1: 3.0, 2: -1.0}, {0: 0.0, 1: 0.0, 2: 0.0}
    measured = difference(Estimate(first), Estimate(second))
    assert verdict(measured, 200).needed.endswith("seeds would tell")


def test_number_is_not_named_where_the_difference_is_none():
    assert "more items" in verdict(Difference(0.0, 1.0, 1.0, 3), 200).needed
    assert np.isfinite(Difference(0.0, 1.0, 1.0, 3).quantile)
