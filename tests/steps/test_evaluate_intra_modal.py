import json

import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.steps.evaluate_intra_modal import evaluate_intra_modal
from crossmodal.workflow.specs import EvaluateSpec


@pytest.fixture
def measured(run_toy, tmp_path):
    """What is written of the planted dataset, by seed."""
    run = run_toy()

    def measure(seed=0):
        output = tmp_path / "within" / f"{seed}.json"
        evaluate_intra_modal(EvaluateSpec(), output, run.embeddings, seed)
        return json.loads(output.read_text())

    return measure


def test_the_querys_own_item_is_left_out(measured):
    found = measured()
    test, perfect = found["test"], found["controls"]["perfect"]
    assert (test["text-to-text"]["queries"], test["image-to-image"]["gallery"]) == (48, 24)
    first, second = (test[f"{m}-to-{m}"]["mAP"] for m in ("image", "text"))
    assert test["average"]["mAP"] == pytest.approx((first + second) / 2)
    assert found["controls"]["constant"]["average"]["mAP"] < first < 1
    assert perfect["average"] == {"mAP": 1, "mAP@50": 1}


def test_test_items_and_the_spread_of_chance_are_told(measured):
    found = measured()
    assert found["test_items"] == 24
    assert found["spread_of_chance"].keys() == {"image-to-image", "text-to-text"}
    assert 0 < found["spread_of_chance"]["text-to-text"]["mAP"] < 0.1


def test_the_seed_draws_the_random_scores_alone(measured):
    first, other = measured(0), measured(1)
    assert first["controls"].pop("random") != other["controls"].pop("random")
    assert first == other


def test_a_run_without_labels_is_refused(run_toy, tmp_path):
    run = run_toy(labelled=False)
    with pytest.raises(CrossmodalError, match=r"seed0\.h5.*labels"):
        evaluate_intra_modal(EvaluateSpec(), tmp_path / "seed0.json", run.embeddings, 0)
