import json
from pathlib import Path

import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.reporting.run_metrics import RunMetrics, read_metrics, write_metrics

KEPT = sorted((Path(__file__).parents[2] / "docs/runs").glob("*.json"))[::50]
FACTS = {"plugin": "cca", "options": {}, "relevance": "labels", "seed": 0}


def runs():
    for path in KEPT:
        yield from json.loads(path.read_text()).values()


def test_a_file_is_as_it_was_after_reading_and_writing(tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    for run in runs():
        # a kept run has its commit and the digest of its fit, too
        write_metrics(first, {k: v for k, v in run.items() if k in RunMetrics.__annotations__})
        write_metrics(second, read_metrics(first))
        assert second.read_bytes() == first.read_bytes()


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"test": {"average": {"mAP": "high"}}}, "test.average.mAP"),
        ({"model": {"plugin": "cca"}}, "model.options"),
        ({"test_items": 0.5}, "test_items"),
    ],
)
def test_damage_is_named_with_its_place(change, part, tmp_path):
    path = tmp_path / "seed0.json"
    write_metrics(path, {"model": FACTS, "test": {"average": {"mAP": 0.5}}})
    assert read_metrics(path)["test"]["average"]["mAP"] == 0.5
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(CrossmodalError, match=f"{path}: {part}"):
        read_metrics(path)
