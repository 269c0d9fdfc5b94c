import copy
from types import SimpleNamespace

import pytest

from crossmodal.config import params
from crossmodal.workflow.job_costs import Cost, read_table
from crossmodal.workflow.requests import DAY, SHORTEST, Requests
from tests.project_params import PARAMS as PROJECT
from tests.workflow.project import PARAMS

FIT = Cost(seconds=36_000, gpu_seconds=7200, memory_mb=1000, gpu_memory_mb=500, origin="measured")


@pytest.fixture
def requests(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # without runs
    return Requests(params.parse(copy.deepcopy(PARAMS)))


def asked(requests, rule, attempt=1, inputs=(), **wildcards):
    job, of = SimpleNamespace(**wildcards), requests.of(rule, *wildcards)
    return {
        name: value(job) if name == "gpu" else value(job, inputs, attempt)
        for name, value in of.items()
    }


def priced(requests, cost, monkeypatch):
    monkeypatch.setattr(requests.costs, "of", lambda *job: cost)


def test_requests__follow_from_the_cost(requests, monkeypatch):
    priced(requests, FIT, monkeypatch)
    assert asked(requests, "train", experiment="sam") == {
        "mem_mb": 1300 + 500,
        "disk_mb": 500,
        "runtime": DAY,  # of 40 hours on a processor; 8 on a GPU
        "gpu_mem_mb": 700,
        "gpu": 1,
    }
    without_gpu = asked(requests, "train", experiment="cca")
    assert (without_gpu["runtime"], without_gpu["gpu_mem_mb"]) == (2400, 0)


def test_requests__double_with_each_attempt(requests):
    first, third = (asked(requests, "train", n, experiment="cca") for n in (1, 3))
    assert {name for name in first if third[name] == 4 * first[name] > 0} == {
        "mem_mb",
        "disk_mb",
        "runtime",
    }


def test_requests__of_unknown_jobs_grow_with_their_inputs(requests, tmp_path):
    (tmp_path / "large.h5").write_bytes(bytes(10**8))
    small, large = (
        asked(requests, "train", inputs=inputs, experiment="cca") for inputs in ([], ["large.h5"])
    )
    assert large["mem_mb"] >= small["mem_mb"] + 400


def test_requests__networks_get_a_gpu(requests):
    assert asked(requests, "extract", dataset="scenes", feature="activations")["gpu"] == 1
    assert asked(requests, "extract", dataset="scenes", feature="fc7")["gpu"] == 0
    assert [asked(requests, "train", experiment=e)["gpu"] for e in ("cca", "sam")] == [0, 1]


@pytest.mark.parametrize(
    ("experiment", "gpus"), [("scenes_systems_sm_lstm", 1), ("scenes_systems_dan", 0)]
)
def test_evaluation_has_a_gpu_where_a_network_scores(experiment, gpus):
    assert asked(Requests(PROJECT), "evaluate", experiment=experiment)["gpu"] == gpus


@pytest.mark.parametrize(("experiment", "threads"), [("places_vgg16_base", 8), ("scenes_cca", 1)])
def test_threads__those_of_the_picture_readers_too(experiment, threads):
    assert Requests(PROJECT).threads(SimpleNamespace(experiment=experiment)) == threads


def test_requests__processes_that_train_together_get_a_gpu_each(monkeypatch):
    wildcards, requests = {"experiment": "places_vgg16_base"}, Requests(PROJECT)
    priced(requests, FIT, monkeypatch)
    alone, threads = asked(requests, "train", **wildcards), requests.threads
    before = threads(SimpleNamespace(**wildcards))
    monkeypatch.setattr(PROJECT.experiments[wildcards["experiment"]], "gpus", 4)
    together = asked(requests, "train", **wildcards)
    assert together["gpu"] == 4
    assert threads(SimpleNamespace(**wildcards)) == 4 * before
    assert together["mem_mb"] == 4 * 1300 + 500
    assert together["gpu_mem_mb"] == alone["gpu_mem_mb"]


def test_requests__half_an_hour_at_least(requests):
    assert asked(requests, "prepare", dataset="scenes")["runtime"] == SHORTEST


def test_requests__above_what_was_measured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    requests = Requests(PROJECT)
    rows = {job: cost for job, cost in read_table("measured").items() if job[0] == "train"}
    rows = {job: c for job, c in rows.items() if job[1] in PROJECT.experiments}
    assert len(rows) > 200
    for (rule, experiment), cost in rows.items():
        request = asked(requests, rule, experiment=experiment)
        assert request["mem_mb"] > 1.25 * cost.memory_mb, experiment
        assert 60 * request["runtime"] > min(3 * cost.seconds, 60 * DAY), experiment


def test_a_part_asks_for_its_share_of_time_and_disk_alone(requests, monkeypatch):
    cost = Cost(seconds=360_000, gpu_seconds=72_000, memory_mb=4000, disk_mb=800, origin="measured")
    priced(requests, cost, monkeypatch)
    job = {"dataset": "scenes", "feature": "activations"}
    whole = asked(requests, "extract", **job)
    requests.params.features["activations"]["jobs"] = 10
    part, join = (asked(requests, rule, **job) for rule in ("extract_part", "join_parts"))
    assert (part["runtime"], whole["runtime"]) == (DAY, 4800)
    assert (part["mem_mb"], part["gpu"]) == (whole["mem_mb"], whole["gpu"]) == (5700, 1)
    assert part["disk_mb"] < whole["disk_mb"] < join["disk_mb"]
    assert (join["mem_mb"], join["gpu"]) == (1800, 0)
