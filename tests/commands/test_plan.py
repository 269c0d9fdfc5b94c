import json

import pytest

from crossmodal.commands import plan
from crossmodal.errors import CrossmodalError
from crossmodal.workflow.job_costs import Costs
from tests.project_params import PARAMS
from tests.project_params import PATH as PROJECT


@pytest.fixture
def folder(tmp_path, monkeypatch):
    return tmp_path


def planned(suite):
    PARAMS.suite = suite
    return plan.phases(PARAMS)


def test_a_suite_costs_what_its_phases_cost(folder):
    found = planned("demo")
    total = found.pop("total")
    assert total.jobs == sum(phase.jobs for phase in found.values())
    assert total.memory_gb == max(phase.memory_gb for phase in found.values())
    assert total.processor_hours == pytest.approx(sum(p.processor_hours for p in found.values()))
    assert total.done == 0


def test_what_is_there_costs_no_time(folder):
    before = planned("demo")
    for file in ("items.csv", "captions.csv", "splits.csv", "media.zip"):
        path = folder / "data/prepared/scenes" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 1000)
    after = planned("demo")
    assert (before["prepare"].done, after["prepare"].done) == (0, 1)
    assert after["prepare"].there_gb == pytest.approx(4e-6)
    assert after["prepare"].processor_hours == 0
    assert after["prepare"].disk_gb == before["prepare"].disk_gb


def test_published_files_are_needed_until_prepared(folder):
    assert planned("fne")["acquire"].disk_gb > 1
    for file in ("items.csv", "captions.csv", "splits.csv", "media.zip"):
        path = folder / "data/prepared/flickr8k" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert planned("fne")["acquire"].jobs == 0
    left = folder / "data/raw/flickr8k/Flickr8k_text.zip"
    left.parent.mkdir(parents=True)
    left.write_bytes(bytes(2_000))
    found = planned("fne")["acquire"]
    assert (found.jobs, found.done, found.disk_gb) == (1, 1, 2e-6)


def test_places_takes_about_300_gb_without_its_archives(folder):
    for dataset in ("places", "flickr8k_recorded"):
        for file in ("items.csv", "captions.csv", "splits.csv", "media.zip"):
            path = folder / "data/prepared" / dataset / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    assert 250 < planned("vase_paper")["total"].disk_gb < 310


def test_plan__prefers_the_runs_of_this_folder(folder):
    before = planned("demo")["train"]
    path = folder / "models/scenes_sam/seed0/benchmark.tsv"
    path.parent.mkdir(parents=True)
    path.write_text("s\tmax_rss\n7200\t5000\n")
    after = planned("demo")["train"]
    fit = Costs().of("train", "scenes_sam")
    assert (fit.seconds, fit.origin) == (7200, "run here")
    assert after.processor_hours > before.processor_hours + 4
    assert after.measured > before.measured
    assert after.memory_gb == 5


def test_plan__seeds_that_do_not_search_take_their_share(folder, monkeypatch):
    spec = PARAMS.experiments["scenes_sam"]
    monkeypatch.setattr(spec, "search", {"margin": [0.5, 1.0, 2.0, 4.0]})
    hours = Costs().of("train", "scenes_sam").seconds / 3600
    before = planned("demo")["train"].processor_hours
    monkeypatch.setattr(spec, "searched_by", "first")
    saved = before - planned("demo")["train"].processor_hours
    assert saved == pytest.approx(2 * 3 / 4 * hours)  # two of three seeds fit one of four


def test_plan__each_evaluation_of_a_suite_counts_once(folder):
    before = planned("demo")["evaluate"]
    rows = {row for table in PARAMS.suites["demo"] for row in PARAMS.shown_in(table)}
    assert before.jobs == sum(len(PARAMS.seeds_of(row)) for row in rows)
    path = folder / "results/runs/scenes_sam/seed0.json"
    path.parent.mkdir(parents=True)
    path.touch()
    assert planned("demo")["evaluate"].done == 1


def test_plan__evaluations_by_a_network_have_gpu_hours(folder):
    assert planned("fne_paper")["evaluate"].gpu_hours > 0
    assert planned("demo")["evaluate"].gpu_hours == 0


def test_jobs_of_a_feature_are_planned_at_its_cost(folder, monkeypatch):
    before = planned("vase_paper")["extract"]
    monkeypatch.setitem(PARAMS.features["vgg16_centre"], "jobs", 8)
    after = planned("vase_paper")["extract"]
    assert after.jobs > before.jobs
    assert (after.jobs - before.jobs) % 8 == 0  # eight parts and a joining job in place of one
    assert after.gpu_hours == pytest.approx(before.gpu_hours)
    assert after.disk_gb == pytest.approx(before.disk_gb)
    assert before.processor_hours < after.processor_hours < before.processor_hours + 1


def test_places_needs_the_published_archives(folder):
    found = planned("vase_paper")
    assert 211 < found["acquire"].disk_gb < 240
    assert found["train"].gpu_hours > 100


def test_the_plan_is_a_table_or_json(folder, capsys):
    plan.plan("demo", True, PROJECT)
    assert json.loads(capsys.readouterr().out)["total"]["jobs"] > 10
    plan.plan(None, False, PROJECT)
    assert "crossmodal run --cores all --config suite=demo" in capsys.readouterr().out


def test_an_unknown_suite_is_refused(folder):
    with pytest.raises(CrossmodalError, match="'nothing' is unknown"):
        plan.plan("nothing", False, PROJECT)
