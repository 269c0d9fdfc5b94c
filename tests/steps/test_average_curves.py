from crossmodal.io.files import read_csv, write_csv
from crossmodal.reporting.curves import LEARNING
from crossmodal.steps.average_curves import average_curves
from crossmodal.steps.draw import draw
from crossmodal.workflow.jobs import CURVES
from crossmodal.workflow.report_specs import Curve, Curves, DrawSpec


def draw_both(folder, experiments, inputs):
    """Learning and precision-scope curves, each with its points."""
    curves = [Curve(**one) for one in experiments]
    for curve in CURVES:
        drawing = Curves(curve=curve, title="Toy", experiments=curves)
        draw(DrawSpec(drawing=drawing), folder / f"{curve}.svg", folder / f"{curve}.csv", inputs)
        points = read_csv(folder / f"{curve}.csv", ["panel", "line", "x", "y", "spread"])
        labels = [one.label for one in curves]
        lines = dict.fromkeys(p["line"] for p in points if not p["line"].startswith("chance"))
        assert sorted(lines) == sorted(labels)
    return [folder / f"{curve}.svg" for curve in CURVES]


def test_the_curves_of_a_run_are_written_and_drawn(run_toy, tmp_path):
    run = run_toy()
    learning = tmp_path / "curves/learning/toy.csv"
    precision = tmp_path / "curves/precision_scope/toy.csv"
    average_curves(learning, precision, [run.metrics], run.model.parents[2])
    assert [row["step"] for row in read_csv(learning, ["validation", "loss"])] == ["0"]
    assert float(read_csv(precision, ["scope", "precision"])[0]["precision"]) > 0
    told = {"dataset": "toy", "relevance": "category", "task": "category", "method": 0}
    shown = [{"name": "toy", "label": "Correlations", **told}]
    items = tmp_path / "prepared" / "toy" / "items.csv"
    items.parent.mkdir(parents=True)
    items.write_bytes((run.data.folder / "items.csv").read_bytes())
    drawn = draw_both(tmp_path, shown, [learning, precision, items])
    row = read_csv(precision, [])[0]
    for direction in ("image-to-text", "text-to-image"):
        assert 0 < float(row[direction]) <= 1
        assert direction in drawn[1].read_text()
        assert f"chance, {float(row[f'chance {direction}']):.3g}" in drawn[1].read_text()
    for path, split in zip(drawn, ("validation", "test"), strict=True):
        shown = path.read_text()
        assert "Correlations" in shown
        assert split in shown
        assert "category" in shown
    assert "mAP (0 to 1), mean of both directions" in drawn[0].read_text()
    assert "rsum" not in drawn[0].read_text()


def test_scores_of_different_kinds_have_panels_of_their_own(tmp_path):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy/items.csv").write_text("id,category,labels,image\na,x,x,\n")
    inputs, experiments = [tmp_path / "toy/items.csv"], []
    for name, task in (("sam", "category"), ("fne", "instance")):
        told = {"dataset": "toy", "relevance": "category", "task": task, "method": len(experiments)}
        experiments.append({"name": name, "label": name.upper(), **told})
        inputs += [tmp_path / f"{kind}/{name}.csv" for kind in ("learning", "precision_scope")]
        write_csv(inputs[-2], [*LEARNING, "spread validation"], [[0, 1, "", "", 0.1]])
        write_csv(inputs[-1], ["scope", "precision", "a-to-b", "chance a-to-b"], [[1, 1, 1, 0.5]])
    learning, precision = draw_both(tmp_path, experiments, inputs)
    shown = learning.read_text()
    assert all(
        text in shown for text in ("SAM", "FNE", "mAP (0 to 1), mean of both directions", "rsum")
    )
    assert precision.read_text().count("chance, 0.5") == 1
