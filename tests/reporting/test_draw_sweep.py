import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import read_csv, write_csv
from crossmodal.steps.draw import draw
from crossmodal.workflow.report_specs import DrawSpec, Sweep

EXPERIMENT = {
    "label": "CCA",
    "dataset": "toy",
    "views": {"image": "pixels", "text": "words"},
    "relevance": "category",
    "method": "cca",
    "grid": {"dims": [3]},
}
FIGURE = {"title": "Toy", "experiments": ["toy"], "x": "dims", "y": "mAP"}


def drawn_of(tmp_path, paths, **changes):
    output = tmp_path / "results" / "figures" / "toy.svg"
    content = {"figure": FIGURE | changes, "experiments": {"toy": EXPERIMENT}}
    drawing = Sweep.model_validate(content | {"methods": {"toy": 0}})
    draw(DrawSpec(drawing=drawing), output, output.with_suffix(".csv"), paths)
    return output.read_text(), read_csv(output.with_suffix(".csv"), [])


def test_a_metric_of_runs_is_drawn_and_its_points_are_written(run_toy, tmp_path):
    drawn, points = drawn_of(tmp_path, [run_toy().metrics])
    assert "CCA" in drawn
    assert [(p["line"], p["x"], p["seeds"]) for p in points] == [("CCA", "5", "1")]
    assert 0 < float(points[0]["y"]) < 1


def test_learning_curves_are_drawn_in_the_order_of_their_steps(tmp_path):
    path = tmp_path / "toy.csv"
    rows = [["10", "0.5", "", "3"], ["2", "0.4", "", "1"]]
    write_csv(path, ["step", "validation", "loss", "seconds"], rows)
    drawn, points = drawn_of(tmp_path, [path], x="step", y="seconds", logarithmic=True)
    assert "CCA, dims 3" in drawn
    assert [float(p["y"]) for p in points] == [3.0, 1.0]


def test_a_missing_run_is_named(tmp_path):
    with pytest.raises(CrossmodalError, match=r"toy/seed0\.json"):
        drawn_of(tmp_path, [tmp_path / "toy" / "seed0.json"])
