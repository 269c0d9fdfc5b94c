from crossmodal.files import read_csv
from crossmodal.steps.curves import curves
from crossmodal.steps.figures import figures


def test_the_curves_of_a_run_are_written_and_drawn(run_toy, tmp_path):
    run = run_toy()
    learning = tmp_path / "curves/learning/toy.csv"
    precision = tmp_path / "curves/precision_scope/toy.csv"
    curves(learning, precision, [run.metrics], run.model.parents[2])
    assert [row["step"] for row in read_csv(learning, ["validation", "loss"])] == ["0"]
    assert float(read_csv(precision, ["scope", "precision"])[0]["precision"]) > 0
    spec = {"title": "Toy", "experiments": [["toy", "Canonical correlations"]]}
    drawn = tmp_path / "learning.svg", tmp_path / "precision.svg"
    figures(spec, *drawn, tmp_path / "curves")
    for path in drawn:
        assert "Canonical correlations" in path.read_text()
