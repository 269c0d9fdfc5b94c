import json
from pathlib import Path

import pytest

from crossmodal.data.changes import Changes
from crossmodal.errors import CrossmodalError
from crossmodal.steps.evaluate_posteriors import evaluate_posteriors


def measured(run, **changes):
    output = Path("results/posteriors/toy/seed0.json")
    spec = run.spec.model_copy(update=changes)
    evaluate_posteriors(spec, output, run.data.folder, run.data.features, run.model)
    return json.loads(output.read_text())


def test_posterior_metrics_are_those_of_the_read_out(run_toy):
    run = run_toy()
    own, found = json.loads(run.metrics.read_text()), measured(run)
    assert found["test"].keys() == own["test"].keys()
    for direction, metrics in found["test"].items():
        assert metrics.keys() == own["test"][direction].keys()
        assert metrics != own["test"][direction]
    chance = own["controls"]["random"]["average"]["mAP"]
    assert chance < found["test"]["average"]["mAP"] < 1
    assert found["model"] == own["model"]


def test_wrong_labels_change_the_classifier_alone(run_toy):
    run = run_toy()
    right, wrong = measured(run), measured(run, changes=Changes(wrong_labels=0.9))
    assert right["test"] != wrong["test"]
    for name in ("queries", "gallery"):
        sizes = [found["test"]["image-to-text"][name] for found in (right, wrong)]
        assert sizes[0] == sizes[1]
    means = [found["test"]["average"]["mAP"] for found in (right, wrong)]
    assert means[1] < means[0]


def test_a_run_without_labels_is_refused(run_toy):
    with pytest.raises(CrossmodalError, match="label"):
        measured(run_toy(labelled=False))
