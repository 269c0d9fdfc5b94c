import pytest

from crossmodal.config.published_numbers import STARTS
from crossmodal.reporting.starts import outcome


def make_run(validation, test, chance):
    run = {
        split: {"both": {"rsum": v}} for split, v in (("validation", validation), ("test", test))
    }
    run["controls"] = {"constant": {"both": {"rsum": chance}}}
    last = {"epoch": 3, "positives": 0.9, "negatives": 0.2}
    return run | {"model": {"last_epoch": last, "plateau": {"steps on plateau": 138}}}


@pytest.mark.parametrize(
    ("validation", "test", "chance", "started"),
    [
        (10.1, 10.1, 3.2, 5),
        (9.9, 200.0, 3.2, 0),
        (200.0, 9.9, 3.2, 0),
        (49.0, 49.0, 16.0, 0),  # fewer items: chance is higher
        (51.0, 51.0, 16.0, 5),
    ],
)
def test_a_run_has_started_if_both_splits_are_well_above_chance(validation, test, chance, started):
    assert outcome(make_run(validation, test, chance))[STARTS] == started


def test_last_epoch_states_pair_and_negative_similarity():
    found = outcome(make_run(10, 10, 3.2))
    assert (found["positives"], found["negatives"]) == (0.9, 0.2)


def test_the_validation_score_and_the_plateau_are_told():
    found = outcome(make_run(12, 10, 3.2))
    assert (found["validation rsum"], found["steps on plateau"]) == (12, 138)
