"""DVC and Snakemake over the same files: whoever comes second runs nothing."""

import json
from pathlib import Path
from time import sleep

import pytest

from tests.workflow.project import ONE_RUN, copied, jobs_run, kill_when, metrics

REPRO = ("dvc", "repro")


def set_option(project, method, option, value):
    params = project.params()
    params["methods"][method][option] = value
    project.write_params(params)


def shown_by_dims(project):
    """Metrics of each experiment that DVC shows, by CCA's dimensions."""
    _, head = json.loads(project.call("dvc", "exp", "show", "--json"))
    found = {}
    for shown in head["experiments"]:
        data = shown["revs"][0]["data"]
        dims = data["params"]["params.yaml"]["data"]["methods"]["cca"]["dims"]
        found[dims] = data["metrics"]["results/metrics.json"]["data"]["small"]
    assert len(found) == len(head["experiments"])
    return found


def times(project, *folders):
    """Time of every file, but of the records, which may be written again."""
    files = (path for folder in folders for path in (project.folder / folder).rglob("*.*"))
    return {path: path.stat().st_mtime_ns for path in files if path.name != ".records.json"}


def test_a_second_dvc_repro_does_nothing(finished):
    assert "Data and pipelines are up to date" in finished.call(*REPRO)


@pytest.fixture(scope="module")
def narrow(finished, tmp_path_factory):
    """A project whose branch `narrow` has an experiment of DVC; not to be changed."""
    project = copied(finished.folder, tmp_path_factory.mktemp("narrow") / "project")
    before = times(project, "data", "features", "models/sam")
    project.call("git", "checkout", "--quiet", "-b", "narrow")
    output = project.call("dvc", "exp", "run", "-S", "methods.cca.dims=5")
    assert jobs_run(output) == ONE_RUN
    assert project.params()["methods"]["cca"]["dims"] == 5
    assert shown_by_dims(project).keys() == {5}
    assert times(project, "data", "features", "models/sam") == before
    project.record()
    return project


def test_an_experiment_runs_its_jobs_alone_and_shows_in_dvc(narrow, tmp_path):
    assert narrow.jobs() == {}
    assert narrow.call("dvc", "params", "diff", "HEAD~1").split()[-4:-1] == [
        "params.yaml",
        "methods.cca.dims",
        "10",
    ]
    shown = narrow.call("dvc", "metrics", "show", "--json")
    assert json.loads(shown)[""]["data"] == {
        "results/metrics.json": {"data": json.loads(narrow.read("results/metrics.json"))}
    }
    changed = json.loads(narrow.call("dvc", "metrics", "diff", "HEAD~1", "--json"))
    assert set(changed["results/metrics.json"]) == {
        f"small.cca.{d}.mAP" for d in ("average", "image-to-text", "text-to-image")
    }
    output = narrow.call("dvc", "plots", "diff", "HEAD~1", "--out", str(tmp_path / "plots"))
    assert "WARNING" not in output
    page = (tmp_path / "plots/index.html").read_text()
    for curve in ("learning", "precision_scope"):
        assert page.count(f"results/curves/{curve}/cca.csv") > 0


def test_two_branches_go_back_and_forth_without_a_job(narrow, tmp_path):
    project = copied(narrow.folder, tmp_path / "project")
    for branch in ("-", "narrow"):
        project.call("git", "checkout", "--quiet", branch)
        project.call("dvc", "checkout")
        assert project.jobs() == {}


def test_snakemake_runs_first_and_dvc_then_records(project):
    set_option(project, "cca", "dims", 5)
    assert jobs_run(project.run()) == ONE_RUN
    output = project.call(*REPRO)
    assert jobs_run(output) == {}
    assert "Updating lock file" in output


def queue_status(project, *unwanted):
    """What DVC says of its queue, once it says none of these words."""
    for _ in range(40):
        status = project.call("dvc", "queue", "status")
        if not any(word in status for word in unwanted):
            return status
        sleep(15)  # DVC's start takes a second of the processor
    raise AssertionError(status)


def test_experiments_of_two_workers_have_their_own_metrics(project, tmp_path):
    project.call("dvc", "exp", "run", "--queue", "-S", "methods.cca.dims=5,7")
    # the workers would hold a pipe open
    project.call("sh", "-c", f"dvc queue start --jobs 2 > {tmp_path}/workers.log 2>&1")
    assert queue_status(project, "Queued", "Running").count("Success") == 2
    # a worker ends by a message that it sends to itself once, and that may be lost
    project.call("dvc", "queue", "stop")
    assert "Worker status: 0 active, 0 idle" in queue_status(project, "1 idle", "2 idle")
    found = shown_by_dims(project)
    assert found.keys() == {5, 7}
    assert len({measured["cca"]["average"]["mAP"] for measured in found.values()}) == 2
    assert len({measured["sam"]["average"]["mAP"] for measured in found.values()}) == 1


def test_a_killed_dvc_repro_resumes_with_the_same_command(fresh, finished):
    params = fresh.params()
    params["tables"]["small"]["experiments"] = ["cca"]
    fresh.write_params(params)
    arrived = fresh.folder / "features/scenes/activations.h5"
    kill_when(fresh, lambda folder: arrived.exists(), *REPRO)
    output = fresh.call(*REPRO)
    assert "prepare" not in jobs_run(output)
    (run,) = (name for name in metrics(finished) if "cca" in name)
    assert metrics(fresh) == {run: metrics(finished)[run]}
    assert not half_written(fresh.folder)
    assert "Data and pipelines are up to date" in fresh.call(*REPRO)


def half_written(folder: Path) -> list[Path]:
    """Files that would be taken for outputs, but have no final name yet."""
    outputs = (folder / kind for kind in ("data", "features", "models", "embeddings", "results"))
    hidden = (path for output in outputs for path in output.rglob(".*"))
    return [path for path in hidden if path.name != ".records.json"]
