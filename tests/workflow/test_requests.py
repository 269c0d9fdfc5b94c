import copy
from types import SimpleNamespace

import pytest

from crossmodal.config import params
from crossmodal.workflow.requests import Requests
from tests.project_params import PARAMS as PROJECT
from tests.workflow.project import PARAMS


def asked(content, rule, **wildcards):
    of = Requests(params.parse(content)).of(rule, *wildcards)
    return {name: measure(SimpleNamespace(**wildcards)) for name, measure in of.items()}


@pytest.fixture
def content():
    return copy.deepcopy(PARAMS)


def test_memory_time_and_disk_follow_from_the_size_of_the_data(content):
    small = asked(content, "train", experiment="sam")
    content["datasets"]["scenes"]["train"] = 300_000
    content["methods"]["sam"] |= {"hidden": 16_384, "epochs": 400}
    large = asked(content, "train", experiment="sam")
    smaller = {name for name in small if small[name] < large[name]}
    assert smaller == {"mem_mb", "runtime", "gpu_mem_mb", "disk_mb"}


def test_networks_ask_for_a_gpu(content):
    assert asked(content, "extract", dataset="scenes", feature="activations")["gpu"] == 1
    assert asked(content, "extract", dataset="scenes", feature="fc7")["gpu"] == 0
    assert [asked(content, "train", experiment=e)["gpu"] for e in ("cca", "sam")] == [0, 1]


@pytest.mark.parametrize(("experiment", "threads"), [("places_vgg16_base", 8), ("scenes_cca", 1)])
def test_a_fit_that_reads_pictures_asks_for_the_threads_of_its_workers(experiment, threads):
    asked = Requests(PROJECT).threads("train", "experiment")
    assert asked(SimpleNamespace(experiment=experiment)) == threads


def test_processes_that_train_together_ask_for_a_gpu_each(monkeypatch):
    wildcards = SimpleNamespace(experiment="places_vgg16_base")
    requests = Requests(PROJECT)

    def asked():
        of = requests.of("train", "experiment") | {
            "threads": requests.threads("train", "experiment")
        }
        return {name: measure(wildcards) for name, measure in of.items()}

    alone = asked()
    monkeypatch.setattr(PROJECT.experiments[wildcards.experiment], "gpus", 4)
    monkeypatch.setattr(PROJECT._facts, "needs", {})
    together = asked()
    assert [together[name] for name in ("gpu", "threads")] == [4, 4 * alone["threads"]]
    assert together["mem_mb"] == pytest.approx(4 * alone["mem_mb"], rel=0.1)
    assert together["gpu_mem_mb"] == alone["gpu_mem_mb"]


def test_each_job_asks_for_half_an_hour_at_least(content):
    assert asked(content, "prepare", dataset="scenes")["runtime"] == 30


def test_own_data_that_grew_ask_for_more_without_another_check(tmp_path, content, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "id,image,text,labels\n" + "".join(f"{i},,a text,a\n" for i in range(20))
    (tmp_path / "own.csv").write_text(rows)
    content["datasets"]["scenes"] = {
        "plugin": "folder",
        "csv": "own.csv",
        "validation": 0.1,
        "test": 0.1,
        "seed": 0,
        "duplicates": "refuse",
    }
    checked = tmp_path / "checked.json"
    before = params.parse(content, checked).needs("evaluate", "scenes", "cca")
    many = "".join(f"{i},,a text,a\n" for i in range(20, 20_000))
    (tmp_path / "own.csv").write_text(rows + many)
    after = params.parse(content, checked).needs("evaluate", "scenes", "cca")
    assert after.memory > before.memory
    assert after.seconds > before.seconds
