import pytest

from tests.workflow.project import ONE_METHOD, TABLE, metrics


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


def test_retrieval_within_a_modality_is_measured_for_the_tables_that_show_it(project):
    params = project.params()
    params["tables"]["small"]["retrieval"] = "intra-modal"
    project.write_params(params)
    assert project.jobs() == {"within": 4, "tabulate": 1, "merge": 1}


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
