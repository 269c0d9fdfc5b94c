import csv
import json
from pathlib import Path

import pytest

from crossmodal.config.claims import Comparison, Starts
from crossmodal.steps import claims as step
from crossmodal.workflow.report_specs import ClaimsSpec

CLAIM = Comparison(
    claim="CCA is better than noise",
    paper="SAM",
    place="Table 1",
    metric="mAP",
    direction="average",
    reported=[
        {"table": "Table 1", "dataset": "Wikipedia", "better": "SAM", "worse": "CCA"},
    ],
    measured=[["toy", "noise"], ["toy", "absent"]],
)


FACTS = {"dataset": "toy", "deterministic": True}
EXPERIMENTS = {name: FACTS | {"label": name.upper()} for name in ("toy", "noise")}


@pytest.fixture
def scorecard(run_toy, tmp_path, monkeypatch):
    """Write the scorecard of one claim on a run and a worse one."""
    run = run_toy()
    worse = json.loads(run.metrics.read_text())
    worse["test"]["average"]["mAP"] -= 0.1
    path = run.metrics.parents[1] / "noise" / "seed0.json"
    path.parent.mkdir()
    path.write_text(json.dumps(worse))

    def write(paths, claim=CLAIM, with_queries=True, **facts):
        monkeypatch.setattr(step, "read_claims", lambda: [claim])
        if with_queries:
            queries = run.metrics.with_suffix(".npz")
            path.with_suffix(".npz").write_bytes(queries.read_bytes())
        outputs = [tmp_path / name for name in ("claims.md", "claims.csv", "claims.svg")]
        experiments = {name: own | facts for name, own in EXPERIMENTS.items()}
        step.claims(ClaimsSpec.model_validate({"experiments": experiments}), *outputs, paths)
        with outputs[1].open() as stream:
            return outputs[0].read_text(), list(csv.DictReader(stream)), outputs[2].read_text()

    return write, [run.metrics, Path(path)]


def test_scorecard_says_what_was_reported_and_measured(scorecard):
    write, paths = scorecard
    page, (row,), figure = write(paths)
    assert (row["verdict"], row["reported"], row["marks"]) == ("holds", "+0.201 Wikipedia", "")
    assert float(row["value"]) == pytest.approx(0.1)
    assert float(row["low"]) == pytest.approx(0.1)  # the same values per query: no error
    assert "toy, `toy`: TOY − NOISE +0.100 [+0.100, +0.100] **holds** |" in page
    assert "| SAM | 1 | 1 | 0 | 0 | 0 |" in page
    assert "CCA is better than noise" in figure


def test_scorecard_without_values_per_query_cannot_tell(scorecard):
    write, paths = scorecard
    page, (row,), figure = write(paths, with_queries=False)
    assert (row["verdict"], row["low"]) == ("cannot be told", "")
    assert "+0.100 **cannot be told**² (at least 2 seeds, or values per query, would" in page
    assert "CCA is better than noise" not in figure
    assert "| SAM | 1 | 0 | 0 | 1 (1²) | 0 |" in page


def test_scorecard_lists_a_claim_that_was_not_run(scorecard):
    write, paths = scorecard
    page, (row,), _ = write(paths[:1])
    assert (row["verdict"], row["value"]) == ("not run", "")
    assert "| +0.201 Wikipedia | **not run** |" in page


def test_scorecard_marks_one_seed_and_earlier_code(scorecard):
    write, paths = scorecard
    page, (row,), _ = write(paths, deterministic=False, earlier=True)
    assert row["marks"] == "¹†"
    assert "¹ a row has one seed" in page
    assert "² " not in page


def write_times(run, name, *seconds, device="x86_64"):
    """Runs of an experiment, a seed each, that took so long to fit."""
    metrics = json.loads(run.read_text())
    paths = []
    for seed, time in enumerate(seconds):
        metrics["model"] |= {"fit_seconds": time, "last_epoch": {}}
        metrics["model"]["made"]["device"] = device
        paths.append(run.parents[1] / name / f"times{seed}" / name / f"seed{seed}.json")
        paths[-1].parent.mkdir(parents=True)
        paths[-1].write_text(json.dumps(metrics))
    return paths


@pytest.mark.parametrize(
    ("device", "verdict"), [("x86_64", "holds"), ("NVIDIA H100", "cannot be told")]
)
def test_scorecard_compares_seconds_on_one_device_alone(scorecard, device, verdict):
    write, (run, _) = scorecard
    claim = {"claim": "TOY is faster", "metric": "training time (s)", "direction": "both"}
    claim |= {"paper": "SAM", "place": "Figure 1", "reported": [], "measured": [["toy", "noise"]]}
    paths = write_times(run, "toy", 2.0, 2.1, 2.2)
    paths += write_times(run, "noise", 9.0, 9.2, 9.1, device=device)
    page, (row,), figure = write(paths, Comparison(**claim))
    assert (row["verdict"], row["reported"]) == (verdict, "no number")
    assert float(row["value"]) == pytest.approx(7.0)  # saved
    assert "toy, `toy`: NOISE − TOY, " in page
    assert device in row["rows"]
    assert "TOY is faster" not in figure


@pytest.mark.parametrize(
    ("rsums", "starts", "verdict"),
    [
        ([90] * 4, True, "holds"),
        ([90] * 4, False, "does not hold"),
        ([1] * 4, False, "holds"),
        ([90] * 3, True, "cannot be told"),
        ([90, 90, 1, 1], True, "cannot be told"),
    ],
)
def test_scorecard_counts_runs_that_start(scorecard, rsums, starts, verdict):
    write, (run, _) = scorecard
    metrics = json.loads(run.read_text())
    metrics["controls"]["constant"]["both"] = {"rsum": 3.2}
    metrics["model"] |= {"plateau": {}, "last_epoch": {}}
    paths = []
    for seed, rsum in enumerate(rsums):
        for split in ("validation", "test"):
            metrics[split]["both"] = {"rsum": rsum}
        paths.append(run.parent / f"seed{seed}.json")
        paths[-1].write_text(json.dumps(metrics))
    claim = {"claim": "TOY starts", "paper": "FNE", "place": "Table 5", "reported": []}
    page, (row,), _ = write(paths, Starts(**claim, starts=starts, measured=[["toy"]]))
    assert row["verdict"] == verdict
    assert f"toy, `toy`: TOY {rsums.count(90)} of {len(rsums)} start **{verdict}**" in page
