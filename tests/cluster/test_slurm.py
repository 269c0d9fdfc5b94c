"""The workflow on a real Slurm: `make test-slurm`."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from workflow.conftest import Project, new_project

SUBMITTED = re.compile(r"has been submitted with SLURM jobid (\d+)")
LOCAL = "merge"


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


def call(project, *command, profile=None, status=0):
    """What a command prints in a project; it must end with a status."""
    bin_folder = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "SNAKEMAKE_SLURM_PARTITIONS": str(Path(__file__).with_name("partitions.yaml")),
        **({"SNAKEMAKE_PROFILE": profile} if profile else {}),
    }
    environment.pop("PYTHONPATH", None)
    process = subprocess.run(
        command,
        cwd=project.folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
    )
    assert process.returncode == status, process.stdout
    return process.stdout


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
    return project, todo, call(project, "snakemake", "--profile", "profiles/slurm")


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
        "rule_extract_feature_wildcards_scenes_activations",
        "rule_fit_wildcards_sam_0",
        "rule_embed_wildcards_sam_0",
    }
    assert with_gpu == {job["Comment"] for job in jobs if job["Partition"] == "gpu"}


def test_a_second_call_has_nothing_to_do(project):
    output = call(project, "snakemake", "--profile", "profiles/slurm")
    assert "Nothing to be done" in output


def test_a_failed_job_shows_its_log(project):
    change_dims(project, 1000)
    output = call(project, "snakemake", "--profile", "profiles/slurm", status=1)
    (number,) = SUBMITTED.findall(output)
    log = project.folder / f".snakemake/slurm_logs/rule_fit/cca_0/{number}.log"
    assert f"log: logs/train/cca/seed0.fit.log, {log} (check log file(s)" in output
    assert "error: models/cca/seed0: dims is 1000" in output
    for path in (log, project.folder / "logs/train/cca/seed0.fit.log"):
        assert "dims is 1000" in path.read_text()


def test_dvc_submits_what_an_option_changes(project):
    call(project, "dvc", "init", "--no-scm", "--quiet")
    output = call(project, "dvc", "repro", profile="profiles/slurm")
    assert not SUBMITTED.findall(output)
    change_dims(project, 5)
    todo = project.jobs()
    output = call(project, "dvc", "repro", profile="profiles/slurm")
    jobs = slurm_jobs(output)
    assert Counter(map(rule, jobs)) + Counter([LOCAL]) == todo
    assert [job["Comment"] for job in jobs if rule(job) == "fit"] == ["rule_fit_wildcards_cca_0"]
    assert project.jobs() == {}
