import csv
import json
from pathlib import Path

import pytest

from crossmodal.config.claims import Claim
from crossmodal.steps import claims as step
from crossmodal.workflow.report_specs import ClaimsSpec

CLAIM = Claim(
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


@pytest.fixture
def scorecard(run_toy, tmp_path, monkeypatch):
    """Write the scorecard of one claim on a run and a worse one."""
    run = run_toy()
    worse = json.loads(run.metrics.read_text())
    worse["test"]["average"]["mAP"] -= 0.1
    path = run.metrics.parents[1] / "noise" / "seed0.json"
    path.parent.mkdir()
    path.write_text(json.dumps(worse))
    monkeypatch.setattr(step, "read_claims", lambda: [CLAIM])
    facts = {"dataset": "toy", "deterministic": True}
    experiments = {name: facts | {"label": name.upper()} for name in ("toy", "noise")}

    def write(paths, with_queries=True):
        if with_queries:
            queries = run.metrics.with_suffix(".npz")
            path.with_suffix(".npz").write_bytes(queries.read_bytes())
        outputs = [tmp_path / name for name in ("claims.md", "claims.csv", "claims.svg")]
        step.claims(ClaimsSpec.model_validate({"experiments": experiments}), *outputs, paths)
        with outputs[1].open() as stream:
            return outputs[0].read_text(), list(csv.DictReader(stream)), outputs[2].read_text()

    return write, [run.metrics, Path(path)]


def test_scorecard_says_what_was_reported_and_measured(scorecard):
    write, paths = scorecard
    page, (row,), figure = write(paths)
    assert (row["verdict"], row["reported"]) == ("holds", "+0.201 Wikipedia")
    assert float(row["difference"]) == pytest.approx(0.1)
    assert float(row["low"]) == pytest.approx(0.1)  # the same values per query: no error
    assert "| toy: TOY − NOISE | +0.100 [+0.100, +0.100] | holds |" in page
    assert "CCA is better than noise (toy)" not in figure  # an interval of no width


def test_scorecard_without_values_per_query_cannot_tell(scorecard):
    write, paths = scorecard
    page, (row,), _ = write(paths, with_queries=False)
    assert (row["verdict"], row["low"]) == ("cannot be told", "")
    assert "| +0.100 | cannot be told: one seed, no values per query |" in page


def test_scorecard_lists_a_claim_that_was_not_run(scorecard):
    write, paths = scorecard
    page, (row,), _ = write(paths[:1])
    assert (row["verdict"], row["difference"]) == ("not run", "")
    assert "|  |  | not run |" in page
