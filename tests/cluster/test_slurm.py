"""The workflow on a real Slurm: `make test-slurm`."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.workflow.project import Project, new_project

SUBMITTED = re.compile(r"has been submitted with SLURM jobid (\d+)")
LOCAL = "merge"
SNAKEMAKE = ("snakemake", "--profile", "profiles/slurm")
PATIENCE = 3600  # seconds; each job starts Snakemake twice


def cluster():
    """Name of the cluster that answers, if any."""
    if not shutil.which("scontrol"):
        return None
    answer = subprocess.run(["scontrol", "show", "config"], capture_output=True, text=True)
    name = re.search(r"^ClusterName\s*= (\S+)", answer.stdout, re.MULTILINE)
    return name and name[1]


pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(
        cluster() != "crossmodal", reason="needs the Slurm of tests/cluster/start_slurm.sh"
    ),
]


@pytest.fixture(scope="module", autouse=True)
def partitions():
    """Say what partitions there are."""
    with pytest.MonkeyPatch.context() as patch:
        path = Path(__file__).with_name("partitions.yaml")
        patch.setenv("SNAKEMAKE_SLURM_PARTITIONS", str(path))
        yield


def slurm_jobs(output):
    """What Slurm knows of the jobs that were submitted."""
    jobs = []
    for number in SUBMITTED.findall(output):
        command = ["scontrol", "show", "job", "--oneliner", number]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        jobs.append(dict(word.split("=", 1) for word in answer.stdout.split() if "=" in word))
    return jobs


def rule(job):
    return re.fullmatch(r"rule_(\w+?)(_wildcards_.*)?", job["Comment"])[1]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A project that Slurm ran, the jobs there were to do, and what was printed."""
    project = new_project(tmp_path_factory.mktemp("cluster"))
    project.write_params(project.params() | {"seeds": 1})
    todo = project.jobs()
    return project, todo, project.call(*SNAKEMAKE, timeout=PATIENCE)


@pytest.fixture
def project(first, tmp_path):
    """A copy of the finished project, times included."""
    shutil.copytree(first[0].folder, tmp_path / "project", copy_function=shutil.copy2)
    return Project(tmp_path / "project")


def change_dims(project, dims):
    params = project.params()
    params["methods"]["cca"]["dims"] = dims
    project.write_params(params)


def test_every_job_is_submitted_with_what_it_needs(first):
    _, todo, output = first
    jobs = slurm_jobs(output)
    assert Counter(map(rule, jobs)) + Counter([LOCAL]) == todo
    for job in jobs:
        assert job["JobState"] == "COMPLETED"
        assert job["MinMemoryNode"] != "0"
        assert job["TimeLimit"] != "UNLIMITED"


def test_networks_and_nothing_else_get_a_gpu(first):
    jobs = slurm_jobs(first[2])
    with_gpu = {job["Comment"] for job in jobs if job.get("TresPerJob") == "gres:gpu:1"}
    assert with_gpu == {
        "rule_extract_wildcards_scenes_activations",
        "rule_train_wildcards_sam_0",
        "rule_embed_wildcards_sam_0",
    }
    assert with_gpu == {job["Comment"] for job in jobs if job["Partition"] == "gpu"}


def test_a_second_call_has_nothing_to_do(project):
    assert "Nothing to be done" in project.call(*SNAKEMAKE)


def test_a_failed_job_shows_its_log(project):
    change_dims(project, 1000)
    output = project.call(*SNAKEMAKE, fails=True)
    (number,) = SUBMITTED.findall(output)
    log = project.folder / f".snakemake/slurm_logs/rule_train/cca_0/{number}.log"
    assert f"log: logs/train/cca/seed0.train.log, {log} (check log file(s)" in output
    assert "error: models/cca/seed0: dims is 1000" in output
    for path in (log, project.folder / "logs/train/cca/seed0.train.log"):
        assert "dims is 1000" in path.read_text()


def test_dvc_submits_what_an_option_changes(project, monkeypatch):
    monkeypatch.setenv("SNAKEMAKE_PROFILE", "profiles/slurm")
    assert not SUBMITTED.findall(project.call("dvc", "repro"))
    change_dims(project, 5)
    todo = project.jobs()
    jobs = slurm_jobs(project.call("dvc", "repro", timeout=PATIENCE))
    assert Counter(map(rule, jobs)) + Counter([LOCAL]) == todo
    trained = [job["Comment"] for job in jobs if rule(job) == "train"]
    assert trained == ["rule_train_wildcards_cca_0"]
    assert project.jobs() == {}
