import csv
import json

import pytest

from crossmodal.data.qrels import Judgement, write_qrels
from crossmodal.errors import CrossmodalError
from crossmodal.steps.evaluate_qrels import evaluate_qrels
from crossmodal.steps.tabulate import tabulate
from crossmodal.workflow.report_specs import TabulateSpec
from crossmodal.workflow.specs import EvaluateSpec

EXPERIMENT = {
    "label": "CCA",
    "dataset": "toy",
    "views": {"image": "pixels", "text": "words"},
    "relevance": "category",
    "method": "cca",
    "published": {
        "paper": "SAM",
        "table": "Table 1",
        "dataset": "Pascal Sentences",
        "method": "CCA",
    },
}
TABLE = {"title": "Toy", "experiments": ["toy"], "metrics": ["mAP", "R@1", "rsum"]}
SPEC = {
    "table": TABLE,
    "experiments": {"toy": EXPERIMENT},
    "deterministic": ["toy"],
    "departures": ["`toy` has fewer items."],
    "figures": {},
    "code": "0123",
}


def make(spec, *paths):
    tabulate(TabulateSpec.model_validate(spec), *paths)


def test_table_has_published_beside_reproduced_numbers(run_toy, tmp_path):
    run = run_toy()
    output = tmp_path / "results/tables/toy.md"
    make(SPEC, output, output.with_suffix(".csv"), [run.metrics])
    with output.with_suffix(".csv").open(encoding="utf-8") as stream:
        lines = {(r["experiment"], r["direction"], r["metric"]): r for r in csv.DictReader(stream)}
    test = json.loads(run.metrics.read_text())["test"]
    line = lines["toy", "image-to-text", "mAP"]
    assert (line["published"], line["seeds"], line["spread"]) == ("0.203", "1", "")
    assert float(line["reproduced"]) == test["image-to-text"]["mAP"]
    assert float(line["difference"]) == pytest.approx(test["image-to-text"]["mAP"] - 0.203)
    assert float(lines["toy", "both", "rsum"]["reproduced"]) == test["both"]["rsum"]
    assert lines["toy", "both", "rsum"]["published"] == ""
    error = float(line["error"])
    assert 0.01 < error < 0.1
    shown = (
        f"| CCA | 1 (deterministic) | 0.203 | {test['image-to-text']['mAP']:.3f} ({error:.3f}) |"
    )
    text = output.read_text(encoding="utf-8")
    assert shown in text
    assert "\\toprule" in output.with_suffix(".tex").read_text(encoding="utf-8")
    assert text.startswith("## Toy\n\n`toy` has fewer items.\n\n`toy`: ")


def test_runs_are_told_apart_by_their_folder(run_toy, tmp_path):
    run = run_toy()
    text = run.metrics.read_text()
    paths = [run.metrics, run.metrics.with_name("seed1.json"), tmp_path / "other" / "seed0.json"]
    for path in paths[1:]:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    table = TABLE | {"experiments": ["toy", "other"]}
    experiments = {"toy": EXPERIMENT, "other": EXPERIMENT | {"label": "Other"}}
    spec = SPEC | {"table": table, "experiments": experiments, "deterministic": []}
    make(spec, tmp_path / "toy.md", tmp_path / "toy.csv", paths)
    found = (tmp_path / "toy.md").read_text(encoding="utf-8")
    assert "| CCA | 2 |" in found
    assert "| Other | 1 |" in found


def test_each_remark_on_the_data_is_printed_once(run_toy, tmp_path):
    metrics = json.loads(run_toy().metrics.read_text())
    metrics["model"]["remarks"] = ["lacks 1 photograph", "has 3 clips without samples"]
    paths = [tmp_path / "toy" / f"seed{seed}.json" for seed in range(2)]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(metrics))
    make(SPEC, tmp_path / "toy.md", tmp_path / "toy.csv", paths)
    text = (tmp_path / "toy.md").read_text(encoding="utf-8")
    expected = "`toy` lacks 1 photograph.\n\n`toy` has 3 clips without samples.\n\n"
    assert text.startswith(f"## Toy\n\n`toy` has fewer items.\n\n{expected}")
    assert text.count("photograph") == 1


def test_read_outs_have_columns_and_the_own_published_number(run_toy, tmp_path):
    run = run_toy()
    metrics = json.loads(run.metrics.read_text())
    metrics["test"]["image-to-text"]["mAP"] = 0.987
    run.metrics.with_suffix(".npz").unlink()  # as of runs that were kept without it
    posteriors = tmp_path / "results/posteriors/toy/seed0.json"
    posteriors.parent.mkdir(parents=True)
    posteriors.write_text(json.dumps(metrics))
    spec = SPEC | {"table": TABLE | {"readout": ["own", "posteriors"], "metrics": ["mAP"]}}
    output = tmp_path / "toy.md"
    make(
        spec,
        output,
        output.with_suffix(".csv"),
        [posteriors, run.metrics],
    )
    own = json.loads(run.metrics.read_text())["test"]["image-to-text"]["mAP"]
    text = output.read_text(encoding="utf-8")
    assert "| mAP published | mAP reproduced | difference | mAP, class posteriors |" in text
    shown = f"| CCA | 1 (deterministic) | 0.203 | {own:.3f} | {own - 0.203:+.3f} | 0.987 |"
    assert shown in text


def test_qrels_have_columns_controls_and_errors(run_toy, tmp_path):
    run = run_toy()
    judged = tmp_path / "results/qrels/toy/people/toy/seed0.json"
    dataset = run.data.dataset
    pairs = [(i.id, c.id) for i in dataset.split("test") for c in dataset.captions_of[i.id]]
    both = [Judgement(*p) for p in pairs] + [Judgement(*p[::-1]) for p in pairs]
    write_qrels(tmp_path / "people.csv", both)
    step = EvaluateSpec(), judged, run.embeddings, tmp_path / "people.csv", run.data.folder, 0
    evaluate_qrels(*step)
    table = TABLE | {"relevance": ["own", "people.csv"], "metrics": ["MedR", "nDCG@10", "rsum"]}
    output = tmp_path / "toy.md"
    make(SPEC | {"table": table}, output, output.with_suffix(".csv"), [judged, run.metrics])
    with output.with_suffix(".csv").open(encoding="utf-8") as stream:
        lines = {(r["row"], r["direction"], r["metric"]): r for r in csv.DictReader(stream)}
    found = json.loads(judged.read_text())["test"]
    for direction in ("image-to-text", "text-to-image"):
        line = lines["CCA", direction, "nDCG@10, people"]
        assert float(line["reproduced"]) == found[direction]["nDCG@10"]
        assert 0.01 < float(line["error"]) < 0.2
        perfect = lines["(perfect scores)", direction, "nDCG@10, people"]
        assert float(perfect["reproduced"]) == pytest.approx(1)
        ranks = [lines["CCA", direction, f"MedR{by}"]["reproduced"] for by in ("", ", people")]
        assert ranks[0] == ranks[1]
    sums = [float(lines["CCA", "both", f"rsum{by}"]["reproduced"]) for by in ("", ", people")]
    assert sums[0] == pytest.approx(sums[1])
    assert ("CCA", "image-to-text", "nDCG@10") not in lines


def test_qrels_alone_show_no_numbers_of_the_own_item(run_toy, tmp_path):
    run = run_toy()
    judged = tmp_path / "results/qrels/toy/people/toy/seed0.json"
    item = run.data.dataset.split("test")[0].id
    write_qrels(tmp_path / "people.csv", [Judgement(item, f"{item}#0")])
    step = EvaluateSpec(), judged, run.embeddings, tmp_path / "people.csv", run.data.folder, 0
    evaluate_qrels(*step)
    table = TABLE | {"relevance": ["people.csv"], "metrics": ["R@1", "MRR"]}
    output = tmp_path / "toy.md"
    make(SPEC | {"table": table}, output, output.with_suffix(".csv"), [judged, run.metrics])
    text = output.read_text(encoding="utf-8")
    assert "|  | seeds | R@1, people | MRR, people |" in text
    assert "chance is" not in text


def test_an_unpublished_row_is_refused_and_no_table_written(run_toy, tmp_path):
    published = EXPERIMENT["published"] | {"method": "CCCA"}
    spec = SPEC | {"experiments": {"toy": EXPERIMENT | {"published": published}}}
    run = run_toy()
    with pytest.raises(CrossmodalError, match="no row SAM / Table 1 / Pascal Sentences / CCCA"):
        make(
            spec,
            tmp_path / "toy.md",
            tmp_path / "toy.csv",
            [run.metrics],
        )
    assert not list(tmp_path.glob("toy.*"))


def test_a_missing_run_is_named(tmp_path):
    with pytest.raises(CrossmodalError, match=r"toy/seed0\.json"):
        make(
            SPEC,
            tmp_path / "toy.md",
            tmp_path / "toy.csv",
            [tmp_path / "toy" / "seed0.json"],
        )


def test_figures_have_the_names_of_what_they_show(run_toy, tmp_path):
    table = TABLE | {"figures": ["sweep"], "margins": ["toy"]}
    spec = SPEC | {"table": table, "figures": {"sweep": "mAP by margin"}}
    make(
        spec,
        tmp_path / "toy.md",
        tmp_path / "toy.csv",
        [run_toy().metrics],
    )
    shown = (tmp_path / "toy.md").read_text(encoding="utf-8")
    assert "![mAP by margin](../figures/sweep.svg)" in shown
    assert "![Margins by epoch: CCA](../figures/margins/toy.svg)" in shown
    assert "![Learning curves: Toy](../figures/toy/learning.svg)" in shown


def test_rows_of_embeddings_computed_elsewhere_are_marked(run_toy, tmp_path):
    run = run_toy()
    files = {m: {"file": f"{m}.npy", "ids": "order"} for m in ("image", "text")}
    for embeddings in ({}, files):
        spec = SPEC | {"experiments": {"toy": EXPERIMENT | {"embeddings": embeddings}}}
        make(spec, tmp_path / "a.md", tmp_path / "a.csv", [run.metrics])
        text = (tmp_path / "a.md").read_text(encoding="utf-8")
        said = "‡ embeddings computed elsewhere; nothing was fitted here."
        assert ("| CCA ‡ | 1 (deterministic) |" in text) == (said in text) == bool(embeddings)
