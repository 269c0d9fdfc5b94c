import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import read_json
from crossmodal.steps.tabulate_unfinished import tabulate_unfinished
from crossmodal.workflow.carrier import described
from crossmodal.workflow.records import UNKNOWN, record_of
from tests.steps.test_tabulate import EXPERIMENT


class Inputs(list):
    """Inputs of a job; some have names."""

    def __init__(self, **named):
        super().__init__(path for paths in named.values() for path in paths)
        self.__dict__ |= named


class Job(SimpleNamespace):
    """A job of Snakemake, as far as it is looked at."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__


@pytest.fixture
def run(run_toy, tmp_path, monkeypatch):
    """The jobs of a table of three rows, `toy`, which was run, `broken` and `other`."""
    metrics = run_toy().metrics.read_bytes()
    monkeypatch.chdir(tmp_path)
    paths = {name: f"results/runs/{name}/seed0.json" for name in ("toy", "broken", "other")}
    for path in paths.values():  # those of an earlier run, too
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(metrics)
    spec = {
        "table": {"title": "Toy", "experiments": [*paths], "metrics": ["mAP"]},
        "experiments": {name: EXPERIMENT | {"label": name.upper()} for name in paths},
        "deterministic": [],
        "departures": [],
        "figures": {},
    }
    outputs = [f"results/tables/toy.{kind}" for kind in ("md", "csv", "tex")]

    def job(rule, outputs, log="", spec=None, **inputs):
        return Job(
            rule=Job(name=rule),
            output=outputs,
            input=Inputs(**inputs),
            log=[log],
            params=Job(spec=json.dumps(spec)),
        )

    jobs = {
        "train": job("train", ["model"], "train.log"),
        "broken": job("evaluate", [paths["broken"]], embeddings=["model"]),
        "other": job("evaluate", [paths["other"]], embeddings=["embeddings"]),
        "table": job("tabulate", outputs, spec=spec, runs=[*paths.values()]),
        "merge": job("merge", ["all.md", "metrics.json"], tables=outputs[:1]),
    }
    Path("train.log").write_text("fit 3 of 9\nerror: no item has a label\n")
    return jobs


def test_failed_row_is_empty_with_reason_and_table_due(run):
    del run["other"]
    made = tabulate_unfinished(run.values(), {run["train"]})
    assert [*map(str, made)] == [*run["table"].output, *run["merge"].output]
    text = made[0].read_text()
    assert "since these rows failed:\n\n- BROKEN: no item has a label\n" in text
    assert "| BROKEN |  | 0.203 |  |  |" in text
    assert "| TOY | 1 | 0.203 | **0." in text
    assert "figures/" not in text
    assert Path("all.md").read_text() == text
    assert read_json(Path("metrics.json"))["toy"].keys() == {"toy", "other"}
    for path in made:
        with pytest.raises(CrossmodalError, match="no record says how it was made"):
            record_of(path)
        (stored,) = (p for p in Path(".snakemake/metadata").iterdir() if _describes(p, path))
        assert read_json(stored)["params"] == [UNKNOWN]


def _describes(stored, path):
    return described(stored.name) == path


def test_a_table_that_lacks_what_was_not_started_is_not_made(run):
    assert tabulate_unfinished(run.values(), {run["train"]}) == []
    assert tabulate_unfinished([run["table"], run["merge"]], set()) == []
    assert not Path("results/tables").exists()


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("error: first\nTraceback ...\nValueError: last\n", "ValueError: last"),
        ("fit 3 of 9\n", "stopped without a message"),
        (None, "stopped without a message"),
    ],
)
def test_the_reason_is_what_the_log_says_last(run, log, reason):
    Path("train.log").unlink() if log is None else Path("train.log").write_text(log)
    del run["other"]
    made = tabulate_unfinished(run.values(), {run["train"]})
    assert f"- BROKEN: {reason}" in made[0].read_text()
