import json

import numpy as np
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.reporting.query_values import read_query_values
from crossmodal.steps.evaluate_folds import evaluate_folds
from crossmodal.workflow.report_specs import FoldsSpec
from tests.steps.test_evaluate import DIRECTIONS, direct_metrics, read_split

TEST_ITEMS, FOLDS = 24, 3


@pytest.fixture
def in_folds(tmp_path):
    """What is written of a run, as metrics and as values of each query."""

    def measure(run, folds=FOLDS):
        output = tmp_path / "folds" / "seed0.json"
        evaluate_folds(FoldsSpec(folds=folds), output, run.embeddings, 0)
        return json.loads(output.read_text()), read_query_values(output.with_suffix(".npz"))

    return measure


def parts(view):
    """The rows of each fold, which are those of consecutive items."""
    for items in np.split(np.arange(TEST_ITEMS), FOLDS):
        chosen = np.isin(view["items"], items)
        yield {name: rows[chosen] for name, rows in view.items()}


@pytest.mark.parametrize("labelled", [True, False])
def test_metrics_are_means_of_direct_computations(run_toy, in_folds, labelled):
    run = run_toy(labelled)
    found, _ = in_folds(run)
    views = read_split(run.embeddings, "test")
    for direction in DIRECTIONS:
        sides = (parts(views[modality]) for modality in direction.split("-to-"))
        folds = [direct_metrics(*pair) for pair in zip(*sides, strict=True)]
        expected = {metric: np.mean([of[metric] for of in folds]) for metric in folds[0]}
        measured = found["test"][direction]
        assert {m: measured[m] for m in expected} == pytest.approx(expected, abs=1e-9)


def test_recalls_are_means_of_the_values_of_queries(run_toy, in_folds):
    found, values = in_folds(run_toy())
    for direction in DIRECTIONS:
        metrics = values[direction].metrics()
        for name in ("R@1", "R@10", "mAP"):
            assert found["test"][direction][name] == pytest.approx(metrics[name].mean())
    assert len({*values["text-to-image"].ids}) == 2 * TEST_ITEMS


def test_fewer_documents_are_easier_to_rank(run_toy, in_folds):
    run = run_toy()
    whole, (found, _) = json.loads(run.metrics.read_text()), in_folds(run)
    assert found["test"]["both"]["rsum"] > whole["test"]["both"]["rsum"]
    assert found["test_items"] == TEST_ITEMS
    for scorer in ("random", "constant"):
        own, folds = (of["controls"][scorer]["both"]["rsum"] for of in (whole, found))
        assert folds > 2 * own
    assert found["controls"]["perfect"]["both"]["rsum"] == 600


def test_the_spread_of_chance_is_that_of_a_mean(run_toy, in_folds):
    """Of recall at 1: 24 queries, each right with the probability of one in eight."""
    found, _ = in_folds(run_toy())
    spread = found["spread_of_chance"]["text-to-image"]["R@1"]
    assert spread == pytest.approx(100 * np.sqrt(1 / 8 * 7 / 8 / (2 * TEST_ITEMS)))


def test_folds_of_unequal_sizes_are_refused(run_toy, in_folds):
    with pytest.raises(CrossmodalError, match=r"24 test items make no 5 folds of equal size"):
        in_folds(run_toy(), 5)
