"""The workflow on a real Slurm: `make test-slurm`."""

import re
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.methods.test_multimodal_embedding import OPTIONS
from tests.workflow.project import copied, new_project

SUBMITTED = re.compile(r"has been submitted with SLURM jobid (\d+)")
ARRAY = re.compile(r"SLURM job ID (\d+)")
LOCAL = ("merge", "claims")
SNAKEMAKE = ("snakemake", "--profile", "profiles/slurm")
PATIENCE = 3600  # seconds; each job starts Snakemake twice
SLOW = '''"""SAM with breaks."""

import time

from crossmodal.methods.sam import SAM


class SlowSAM(SAM):
    """Its 40 epochs take two minutes or more."""

    def batches(self, epoch, rng):
        """After three seconds."""
        time.sleep(3)
        return super().batches(epoch, rng)
'''

# for each process of a fit, a file
NOTING = '''"""A multimodal embedding that notes its processes."""

import os
from pathlib import Path

from crossmodal.methods.multimodal_embedding import MultimodalEmbedding


class Noting(MultimodalEmbedding):
    """Each of its processes writes a file."""

    def batches(self, epoch, rng):
        """After a note."""
        rank, all_ranks = (os.environ[name] for name in ("RANK", "WORLD_SIZE"))
        Path(f"process-{rank}-of-{all_ranks}-{os.getpid()}").touch()
        return super().batches(epoch, rng)
'''


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


def slurm_jobs(output, submitted=SUBMITTED):
    """What Slurm knows of the jobs that were submitted, or of the tasks of arrays."""
    jobs = []
    for number in submitted.findall(output):
        command = ["scontrol", "show", "job", "--oneliner", number]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        for line in answer.stdout.splitlines():
            jobs.append(dict(word.split("=", 1) for word in line.split() if "=" in word))
    return jobs


def rule(job):
    return re.fullmatch(r"rule_(\w+?)(_wildcards_.*)?", job["Comment"])[1]


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """A project with a fit on two GPUs, and the output of its submission."""
    project = new_project(tmp_path_factory.mktemp("together"))
    (project.folder / "src/crossmodal/methods/noting.py").write_text(NOTING)
    params = project.params()
    params["methods"]["noting"] = OPTIONS
    params["features"]["tokens"] = {"min_count": 1, "fit_on": ["train"], "bos": True}
    params["experiments"]["noting"] = params["experiments"]["sam"] | {
        **{"method": "noting", "views": {"image": "fc7", "text": "tokens"}, "gpus": 2}
    }
    project.write_params(params)
    model = "models/noting/seed0/model.safetensors"
    return project, project.call(*SNAKEMAKE, model, timeout=PATIENCE)


def test_a_fit_on_two_gpus_starts_once_with_two_processes(together):
    project, output = together
    (fit,) = (job for job in slurm_jobs(output) if rule(job) == "train")
    assert (fit["NumTasks"], fit["TresPerJob"]) == ("1", "gres:gpu:2")
    names = (path.name for path in project.folder.glob("process-*"))
    assert sorted(name.rpartition("-")[0] for name in names) == ["process-0-of-2", "process-1-of-2"]


def test_parts_of_a_feature_are_one_array(together):
    project, _ = together
    path = project.folder / "features/scenes/activations.h5"
    whole, params = path.read_bytes(), project.params()
    params["features"]["activations"]["jobs"] = 2
    project.write_params(params)
    target = "features/scenes/activations.h5"
    output = project.call(*SNAKEMAKE, "--slurm-array-jobs=extract_part", target, timeout=PATIENCE)
    tasks = slurm_jobs(output, ARRAY)
    assert {job["JobState"] for job in tasks} == {"COMPLETED"}
    assert {job["ArrayTaskId"] for job in tasks} == {"1", "2"}
    assert len({job["ArrayJobId"] for job in tasks}) == 1
    assert path.read_bytes() == whole


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
    return copied(first[0].folder, tmp_path / "project")


def change_dims(project, dims):
    params = project.params()
    params["methods"]["cca"]["dims"] = dims
    project.write_params(params)


def test_every_job_is_submitted_with_what_it_needs(first):
    _, todo, output = first
    jobs = slurm_jobs(output)
    assert Counter(map(rule, jobs)) + Counter(LOCAL) == todo
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
    params = project.params()
    params["methods"]["sam"]["margin"] = 1e38  # their sum is infinite
    project.write_params(params)
    output = project.call(*SNAKEMAKE, "--retries", "0", fails=True)
    (number,) = SUBMITTED.findall(output)
    log = project.folder / f".snakemake/slurm_logs/rule_train/sam_0/{number}.log"
    assert f"log: logs/train/sam/seed0.train.log, {log} (check log file(s)" in output
    assert "error: models/sam/seed0: epoch 0 ends with loss inf" in output
    for path in (log, project.folder / "logs/train/sam/seed0.train.log"):
        assert "epoch 0 ends with loss inf" in path.read_text()


def test_dvc_submits_what_an_option_changes(project, monkeypatch):
    monkeypatch.setenv("SNAKEMAKE_PROFILE", "profiles/slurm")
    assert not SUBMITTED.findall(project.call("dvc", "repro"))
    change_dims(project, 5)
    todo = project.jobs()
    jobs = slurm_jobs(project.call("dvc", "repro", timeout=PATIENCE))
    assert Counter(map(rule, jobs)) + Counter(["merge"]) == todo
    trained = [job["Comment"] for job in jobs if rule(job) == "train"]
    assert trained == ["rule_train_wildcards_cca_0"]
    assert project.jobs() == {}


@pytest.fixture
def slow(project):
    """The project with an experiment that is that of SAM, but takes its time."""
    (project.folder / "src/crossmodal/methods/slow_sam.py").write_text(SLOW)
    params = project.params()
    params["methods"]["slow_sam"] = params["methods"]["sam"]
    params["experiments"]["slow"] = params["experiments"]["sam"] | {"method": "slow_sam"}
    project.write_params(params)
    return project


def check_numbers(project):
    """What was learnt with interruptions is what was learnt without."""
    for name in ("curve.csv", "model.safetensors"):
        undisturbed, interrupted = (
            (project.folder / f"models/{experiment}/seed0/{name}").read_bytes()
            for experiment in ("sam", "slow")
        )
        assert interrupted == undisturbed


def test_timed_out_job_is_resubmitted_with_equal_numbers(slow):
    limit = ("--set-resources", "train:runtime=1", "--retries", "9")
    model = "models/slow/seed0/model.safetensors"
    output = slow.call(*SNAKEMAKE, model, *limit, timeout=PATIENCE)
    *before, last = slurm_jobs(output)
    assert {job["JobState"] for job in before} == {"TIMEOUT"}
    assert {job["TimeLimit"] for job in (*before, last)} == {"00:01:00"}
    assert last["JobState"] == "COMPLETED"
    check_numbers(slow)


def test_a_requeued_job_ends_with_the_same_numbers(slow):
    process = slow.start(*SNAKEMAKE, "models/slow/seed0/model.safetensors")
    deadline = time.monotonic() + PATIENCE
    while not any(slow.folder.glob(".checkpoints/models/slow/**/snapshot.safetensors")):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "nothing was learnt"
        time.sleep(1)
    found = subprocess.run(
        ["squeue", "--noheader", "--states", "running", "--format", "%A"],
        capture_output=True,
        text=True,
        check=True,
    )
    subprocess.run(["scontrol", "requeue", *found.stdout.split()], check=True)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, output
    (job,) = slurm_jobs(output)
    assert (job["JobState"], job["Restarts"]) == ("COMPLETED", "1")
    check_numbers(slow)
