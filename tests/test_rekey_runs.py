"""The script that gives kept runs the digests of renamed options."""

import importlib
from pathlib import Path

import pytest

from crossmodal.io.files import digest, read_json, write_json
from crossmodal.models.earlier_options import current_options
from tests.project_params import PARAMS

EXPERIMENT = "wikipedia_kcca"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "tools")
    return importlib.import_module("rekey_runs")


def test_earlier_jobs_map_to_current_ones(script):
    for experiment in PARAMS.experiments:
        job = PARAMS.description(experiment)[0]
        earlier = script.earlier_job(job)
        assert current_options(job["plugin"], earlier["options"]) == job["options"]
        assert ("scaling" in job["options"]) == bool(
            {"scaling", "input_norm"} & earlier["options"].keys()
        )


def test_earlier_job_of_a_searched_option(script):
    job = {"plugin": "cfa", "options": {"scaling": "l2-centre"}, "search": {}}
    assert script.earlier_job(job)["options"] == {"input_norm": "l2"}
    job["search"] = {"scaling": ["centre", "zscore"], "dims": [5]}
    assert script.earlier_job(job)["search"] == {"input_norm": ["raw", "zscore"], "dims": [5]}


@pytest.mark.parametrize("counts", [True, False])
def test_runs_of_the_same_fit_get_its_digest(script, tmp_path, counts):
    job, *data = PARAMS.description(EXPERIMENT)
    before = digest(script.earlier_job(job), *data) if counts else "of other options"
    model = {"plugin": "kcca", "options": {"input_norm": "raw"}, "searched": {}, "search": []}
    file = tmp_path / f"{EXPERIMENT}.json"
    write_json(file, {"results/runs/a.json": {"of": before, "model": model}})
    for _ in range(2):
        script.main(PARAMS, tmp_path)
    run = read_json(file)["results/runs/a.json"]
    assert (run["of"] == PARAMS.described(EXPERIMENT)) == counts
    assert run["model"]["options"] == ({"scaling": "centre"} if counts else {"input_norm": "raw"})
