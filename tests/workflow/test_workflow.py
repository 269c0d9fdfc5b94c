import os
import signal
import time

import pytest

from tests.workflow.project import ONE_METHOD, SNAKEMAKE, TABLE, kill_when, metrics


def test_a_finished_workflow_has_nothing_to_do(finished):
    assert "Nothing to be done" in finished.run()
    assert finished.jobs() == {}


def test_the_table_shows_all_runs_and_the_controls(finished):
    table = finished.read("results/tables/small.md")
    assert table == finished.read("results/tables/all.md")
    for row in ("| CCA | 2 |", "| SAM | 2 |", "(random scores)", "(constant scores)", "± "):
        assert row in table


def test_methods_are_above_random(finished):
    for run in metrics(finished).values():
        assert run["test"]["average"]["mAP"] > 1.2 * run["controls"]["random"]["average"]["mAP"]


def test_an_option_of_one_method_reruns_only_its_jobs(project):
    params = project.params()
    params["methods"]["sam"]["margin"] = 0.5
    project.write_params(params)
    assert project.jobs() == ONE_METHOD


def test_an_override_of_one_experiment_reruns_only_its_jobs(project):
    params = project.params()
    params["experiments"]["cca"]["options"] = {"dims": 5}
    project.write_params(params)
    assert project.jobs() == ONE_METHOD


def test_editing_a_method_reruns_only_its_jobs(project):
    source = project.folder / "src/crossmodal/methods/cca.py"
    source.write_text(source.read_text() + "\nTOUCHED = True\n")
    assert project.jobs() == ONE_METHOD


def test_editing_an_extractor_reruns_its_features_and_what_uses_them(project):
    source = project.folder / "src/crossmodal/features/bow.py"
    source.write_text(source.read_text() + "\nTOUCHED = True\n")
    twice = {name: 2 * count for name, count in ONE_METHOD.items()}
    assert project.jobs() == {"extract_feature": 1, **twice, **TABLE}


def test_a_seed_more_fits_only_that_seed(project):
    params = project.params()
    params["seeds"] = 3
    project.write_params(params)
    expected = {"fit": 2, "embed": 2, "metrics": 2, "curves": 2, **TABLE}
    assert project.jobs() == expected


def test_a_comment_or_a_new_time_reruns_nothing(project):
    path = project.folder / "params.yaml"
    path.write_text("# a comment\n" + path.read_text())
    for source in (project.folder / "src").rglob("*.py"):
        source.touch()
    assert project.jobs() == {}


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("methods", "sam", "margn"), 0.5, "methods.sam.margn: unknown key; allowed here: dims"),
        (("methods", "sam", "margin"), "wide", "methods.sam.margin: Input should be a valid"),
        (("experiments", "sam", "dataset"), "scene", "dataset: 'scene' is unknown; known: scenes"),
        (("experiments", "sam", "method"), "sma", "method: 'sma' is unknown; known: cca, sam"),
        (("datasets", "wiki"), {}, "datasets.wiki.plugin: 'wiki' is unknown; known: coco"),
    ],
)
def test_bad_parameters_stop_before_any_job(project, keys, value, message):
    params = project.params()
    node = params
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value
    project.write_params(params)
    output = project.run("--forceall", fails=True)
    assert "params.yaml: " in output
    assert message in output
    assert "rule prepare_dataset" not in output


def test_a_run_killed_in_extraction_and_in_training_goes_on(fresh, finished):
    parts = ".checkpoints/features/scenes/activations"
    kill_when(fresh, lambda folder: len(list((folder / parts).rglob("*.npy"))) >= 1, *SNAKEMAKE)
    assert not (fresh.folder / "features/scenes/activations.h5").exists()
    checkpoints = ".checkpoints/models/sam"
    kill_when(
        fresh, lambda folder: any((folder / checkpoints).rglob("training.safetensors")), *SNAKEMAKE
    )
    assert (fresh.folder / "features/scenes/activations.h5").exists()
    output = fresh.run()
    assert "rule prepare_dataset" not in output
    assert "rule extract_feature" not in output
    assert metrics(fresh) == metrics(finished)
    for seed in (0, 1):
        curve = f"models/sam/seed{seed}/curve.csv"
        assert fresh.read(curve) == finished.read(curve)


def test_a_second_snakemake_is_kept_out(fresh):
    first = fresh.start(*SNAKEMAKE)
    locks = fresh.folder / ".snakemake/locks"
    while not any(locks.glob("*")):
        assert first.poll() is None, first.communicate()[0]
        time.sleep(0.01)
    output = fresh.run(fails=True)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert "LockException" in output
