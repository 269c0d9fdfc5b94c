import os
import shutil

import pytest

from crossmodal.data.prepared import Prepared
from tests.workflow.project import ONE_RUN, jobs_of, metrics

# SAM with its two seeds; CCA, in which nothing is random, with one
SAM, BOTH = jobs_of(methods=1, runs=2), jobs_of(methods=2, runs=3)


def test_flipped_bit_with_unchanged_time_stops_its_reader(project):
    path = project.folder / "data/prepared/scenes/items.csv"
    time, content = path.stat().st_mtime_ns, bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(time, time))
    output = project.run("--forcerun", "embed", "--", "embeddings/cca/seed0.h5", fails=True)
    assert "data/prepared/scenes/items.csv: changed since it was made" in output


def test_a_finished_workflow_has_nothing_to_do(finished):
    assert "Nothing to be done" in finished.run()


def test_the_table_shows_all_runs_and_the_controls(finished):
    table = finished.read("results/tables/small.md")
    assert table == finished.read("results/tables/all.md")
    rows = ("| CCA | 1 (deterministic) |", "| SAM | 2 |", "(random scores)", "(constant scores)")
    for row in (*rows, "± "):
        assert row in table


def test_methods_are_above_random(finished):
    for run in metrics(finished).values():
        assert run["test"]["average"]["mAP"] > 1.2 * run["controls"]["random"]["average"]["mAP"]


def test_an_option_of_one_method_reruns_only_its_jobs(project):
    params = project.params()
    params["methods"]["sam"]["margin"] = 0.5
    project.write_params(params)
    assert project.jobs() == SAM


def test_a_failed_row_is_empty_until_it_is_mended(project):
    table = project.read("results/tables/all.md")
    source = project.folder / "src/crossmodal/methods/sam.py"
    code = source.read_text()
    source.write_text(
        code.replace("require_labels(train, negatives=True)", 'raise ValueError("no luck")')
    )
    assert "results/tables/small.md: incomplete, since rows failed" in project.run(fails=True)
    incomplete = project.read("results/tables/all.md")
    assert "\n- SAM: ValueError: no luck\n" in incomplete
    assert [line for line in incomplete.splitlines() if line.startswith("| SAM |")] == [
        "| SAM |  |  |"
    ] * 3
    lines = table.replace("**", "").splitlines()  # nothing is best where nothing competes
    rows = {line for line in lines if line.startswith(("| CCA |", "| (random"))}
    assert rows <= {*incomplete.splitlines()}
    source.write_text(code)
    assert project.jobs() == SAM


def test_an_override_of_one_experiment_reruns_only_its_jobs(project):
    params = project.params()
    params["experiments"]["cca"]["options"] = {"dims": 5}
    project.write_params(params)
    assert project.jobs() == ONE_RUN


@pytest.mark.parametrize(
    ("gone", "change", "jobs"),
    [
        ("models/cca/seed0/model.json", ("experiments", "cca", "options", {"dims": 5}), ONE_RUN),
        ("features/scenes/bow.h5", ("features", "bow", "size", 150), {"extract": 1, **BOTH}),
    ],
)
def test_no_result_outlives_what_it_was_made_of(project, gone, change, jobs):
    project.run("--cleanup-metadata", gone)  # as when its job has failed
    (project.folder / gone).unlink()
    assert project.jobs() == {}  # nothing asks for it
    params, (kind, name, key, value) = project.params(), change
    params[kind][name][key] = value
    project.write_params(params)
    assert project.jobs() == jobs


def test_editing_a_method_reruns_only_its_jobs(project):
    source = project.folder / "src/crossmodal/methods/cca.py"
    source.write_text(source.read_text() + "\nTOUCHED = True\n")
    assert project.jobs() == ONE_RUN


def test_edited_extractor_reruns_its_features_and_users(project):
    source = project.folder / "src/crossmodal/features/bow.py"
    source.write_text(source.read_text() + "\nTOUCHED = True\n")
    assert project.jobs() == {"extract": 1, **BOTH}


def test_jobs_of_a_feature_are_its_parts_and_one_that_joins(project):
    params = project.params()
    params["features"]["bow"]["jobs"] = 3
    project.write_params(params)
    assert project.jobs() == {"extract_part": 3, "join_parts": 1, **BOTH}


def test_a_seed_more_fits_only_that_seed(project):
    params = project.params()
    params["seeds"] = 3
    project.write_params(params)
    assert project.jobs() == ONE_RUN


def test_intra_modal_retrieval_is_measured_where_shown(project):
    params = project.params()
    params["tables"]["small"]["retrieval"] = "intra-modal"
    project.write_params(params)
    assert project.jobs() == {"evaluate_intra_modal": 3, "tabulate": 1, "merge": 1}


def test_folds_are_measured_where_shown(project):
    params = project.params()
    params["tables"]["small"]["folds"] = 2
    project.write_params(params)
    assert project.jobs() == {"evaluate_folds": 3, "tabulate": 1, "merge": 1}
    project.run()
    assert (project.folder / "results/folds/2/cca/seed0.json").exists()
    assert project.jobs() == {}


def test_class_posteriors_are_measured_where_shown(project):
    params = project.params()
    params["tables"]["small"]["readout"] = ["own", "posteriors"]
    project.write_params(params)
    assert project.jobs() == {"evaluate_posteriors": 3, "tabulate": 1, "merge": 1}


def test_qrels_are_measured_where_named(project):
    params = project.params()
    params["tables"]["small"]["relevance"] = ["own", "judged.csv"]
    project.write_params(params)
    item = Prepared(project.folder / "data/prepared/scenes").split("test")[0].id
    (project.folder / "judged.csv").write_text(f"query,document\n{item},{item}\n")
    assert project.jobs() == {"evaluate_qrels": 3, "tabulate": 1, "merge": 1}


def test_without_any_record_nothing_is_taken_for_up_to_date(project):
    shutil.rmtree(project.folder / ".snakemake")
    for path in project.folder.rglob(".records.json"):
        path.unlink()
    assert "no record says how they were made" in project.run("--dry-run")
    assert project.jobs() == {"prepare": 1, "extract": 3, **BOTH, "claims": 1}


def test_a_comment_or_a_new_time_reruns_nothing(project):
    path = project.folder / "params.yaml"
    path.write_text("# a comment\n" + path.read_text())
    for source in (project.folder / "src").rglob("*.py"):
        source.write_text(source.read_text() + "\n# a comment\n")
    assert project.jobs() == {}


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("methods", "sam", "margn"), 0.5, "methods.sam.margn: unknown key; allowed here: scaling"),
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
    assert "rule prepare:" not in output


def test_a_mistyped_target_is_corrected(finished):
    output = finished.run("--dry-run", "results/tables/smal.md", fails=True)
    assert "results/tables/smal.md: tables: 'smal' is unknown" in output
    assert "did you mean 'small'" in output
