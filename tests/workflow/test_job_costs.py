from pathlib import Path

import pytest

from crossmodal.workflow import job_costs
from crossmodal.workflow.job_costs import Costs, default, read_table
from tests.project_params import PARAMS, PATH

BENCHMARK = "s\th:m:s\tmax_rss\tmax_vms\n{}\t0:00:10\t{}\t-\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_here(folder, seed, seconds, memory):
    path = folder / f"models/scenes_sam/seed{seed}/benchmark.tsv"
    path.parent.mkdir(parents=True)
    path.write_text(BENCHMARK.format(seconds, memory))
    return path


def test_table__has_every_job_of_the_project():
    table = read_table("estimated") | read_table("measured")
    usable = [e for e in PARAMS.experiments if f"experiments.{e}" not in PARAMS.broken]
    assert not {("train", e) for e in usable} - table.keys()
    assert not {("prepare", d) for d in PARAMS.datasets} - table.keys()


def test_of__measured_before_estimated(folder):
    measured = read_table("measured")["train", "flickr8k_fc7_sh"]
    assert measured != read_table("estimated")["train", "flickr8k_fc7_sh"]
    assert Costs().of("train", "flickr8k_fc7_sh") == measured


def test_of__runs_of_this_folder_first(folder):
    run_here(folder, 0, 10.5, 700.25)
    run_here(folder, 1, 9.0, 900.0)
    cost = Costs().of("train", "scenes_sam")
    assert (cost.seconds, cost.memory_mb, cost.origin) == (10.5, 900.0, "run here")
    assert cost.is_measured


def test_of__gpu_memory_and_time_of_this_folders_fits(folder):
    path = run_here(folder, 0, 10, 700)
    path.with_name("model.json").write_text('{"fit": {"peak_gpu_memory_mb": 512}}')
    cost = Costs().of("train", "scenes_sam")
    assert (cost.gpu_memory_mb, cost.gpu_seconds) == (512, 10)


DAMAGED = ["", "s\th:m:s\n", "s\n-1\n", "NA\n", "\0\n"]
DAMAGED += map(BENCHMARK.format, ("inf", 1e300), (1, 1))


@pytest.mark.parametrize("content", DAMAGED)
def test_of__damaged_benchmarks_say_nothing(folder, content):
    before = Costs().of("train", "scenes_sam")
    run_here(folder, 0, 1, 1).write_text(content)
    assert Costs().of("train", "scenes_sam") == before


@pytest.mark.parametrize("model", ["[]", "{", '{"fit": 1}', '{"fit": {"peak_gpu_memory_mb": "x"}}'])
def test_of__damaged_models_say_nothing(folder, model):
    path = run_here(folder, 0, 10, 700)
    before = Costs().of("train", "scenes_sam")
    path.with_name("model.json").write_text(model)
    assert Costs().of("train", "scenes_sam") == before


@pytest.mark.parametrize("memory", ["-", "NA", "0.00"])
def test_of__memory_of_the_table_where_a_job_was_too_short(folder, memory):
    before = Costs().of("train", "scenes_sam")
    run_here(folder, 0, 0.2, memory)
    cost = Costs().of("train", "scenes_sam")
    assert (cost.seconds, cost.memory_mb) == (0.2, before.memory_mb)
    assert before.memory_mb > 0


def test_of__what_was_not_measured_is_that_of_the_table(folder):
    job = next(j for j, cost in read_table("estimated").items() if cost.gpu_seconds)
    before = Costs().of(*job)
    path = folder / job_costs.BENCHMARKS[job[0]].format(job[1]).replace("*", "0")
    path.parent.mkdir(parents=True)
    path.write_text(BENCHMARK.format(10.5, 700.25))
    measured = {"seconds": 10.5, "memory_mb": 700.25, "origin": "run here"}
    assert Costs().of(*job) == before.model_copy(update=measured)
    assert before.disk_mb > 0


def test_of__what_was_not_measured_of_unknown_jobs(folder):
    (folder / "a.h5").write_bytes(bytes(3_000_000))
    path = folder / "models/mine/seed0/benchmark.tsv"
    path.parent.mkdir(parents=True)
    path.write_text(BENCHMARK.format(0.2, "-"))
    measured = {"seconds": 0.2, "origin": "run here"}
    inputs = [Path("a.h5")]
    assert Costs().of("train", "mine", inputs) == default(inputs).model_copy(update=measured)


def test_of__unknown_jobs_cost_by_the_size_of_their_inputs(folder):
    (folder / "a.h5").write_bytes(bytes(3_000_000))
    inputs = [Path("a.h5"), Path("absent.h5")]
    cost = Costs().of("train", "mine", inputs)
    assert cost == default(inputs)
    assert cost.memory_mb == job_costs.BASE_MB + 3 * job_costs.COPIES
    assert not cost.is_measured


def test_benchmarks__lie_where_the_rules_write_them():
    rules = "".join(path.read_text() for path in (PATH.parent / "rules").glob("*.smk"))
    for rule, pattern in job_costs.BENCHMARKS.items():
        name = "{dataset}/{feature}" if rule == "extract" else "{experiment}"
        name = "{dataset}" if rule == "prepare" else name
        assert f'"{pattern.format(name).replace("seed*", "seed{seed}")}"' in rules


def test_parts_of_a_feature_share_its_cost(folder):
    whole, part = (
        Costs().of("extract", "places/vgg16_centre"),
        Costs().of_part("places/vgg16_centre", 4),
    )
    assert part.seconds == whole.seconds / 4
    assert part.gpu_seconds == (whole.gpu_seconds and whole.gpu_seconds / 4)
    assert part.disk_mb == whole.disk_mb / 4
    assert part.memory_mb == whole.memory_mb


def test_a_part_costs_what_the_slowest_of_as_many_took(folder):
    parts = folder / "features/scenes/bow.parts"
    parts.mkdir(parents=True)
    for name, seconds in (("1-of-2", 7), ("2-of-2", 9), ("1-of-3", 50), ("joined", 90)):
        (parts / f"{name}.tsv").write_text(BENCHMARK.format(seconds, 800))
    assert Costs().of_part("scenes/bow", 2).seconds == 9
    assert Costs().of_join("scenes/bow").seconds == 90
    assert Costs().of("extract", "scenes/bow").origin != "run here"
