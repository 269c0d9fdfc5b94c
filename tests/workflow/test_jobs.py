import copy
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from crossmodal.config import params
from crossmodal.data.changes import Changes
from crossmodal.errors import CrossmodalError
from crossmodal.workflow.drawings import Drawings
from crossmodal.workflow.jobs import Jobs
from tests import project_params
from tests.workflow.project import PARAMS

SAM = SimpleNamespace(experiment="sam")
SMALL = SimpleNamespace(table="small")
EPOCHS = {"title": "Epochs", "experiments": ["sam"], "x": "epochs", "y": "mAP"}
STEPS = EPOCHS | {"x": "step", "y": "loss"}


def make(**small):
    """The jobs of the small project, with more in its table."""
    content = copy.deepcopy(PARAMS)
    content["figures"] = {"epochs": EPOCHS, "steps": STEPS}
    content["tables"]["small"] |= small
    return Jobs(params.parse(content))


def draw(jobs, name):
    return Drawings(jobs).draw(SimpleNamespace(drawing=name))


@pytest.fixture(scope="module")
def jobs():
    return make()


def test_the_suite_is_walked_from_raw_files_to_embeddings(jobs):
    assert jobs.suite == ["small"]
    assert (jobs.experiments(), jobs.datasets()) == (["cca", "sam"], ["scenes"])
    assert jobs.all_raw_files(SMALL) == []
    assert "data/prepared/scenes/media.zip" in jobs.all_prepared_files(SMALL)
    assert set(jobs.all_features(SMALL)) == {"features/scenes/fc7.h5", "features/scenes/bow.h5"}
    runs = ("cca/seed0", "sam/seed0", "sam/seed1")  # nothing is random in CCA
    assert jobs.all_embeddings(SMALL) == [f"embeddings/{run}.h5" for run in runs]


def test_jobs_of_a_feature_change_no_specification(jobs, monkeypatch):
    bow = SimpleNamespace(dataset="scenes", feature="bow", experiment="sam")

    def asked():
        return jobs.extract(bow), jobs.train(bow), jobs.features(bow)

    before = asked()
    assert jobs.parts(bow) == ["features/scenes/bow.parts/1-of-1.zip"]
    monkeypatch.setitem(jobs.params.features["bow"], "jobs", 3)
    assert asked() == before
    names = [f"features/scenes/bow.parts/{part}-of-3.zip" for part in (1, 2, 3)]
    assert jobs.parts(bow) == names


def test_published_files_are_asked_for_until_prepared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(project_params.PARAMS, "suite", "real")
    asked = Jobs(project_params.PARAMS)
    before = asked.all_raw_files(SMALL)
    for path in asked.all_prepared_files(SMALL):
        if path.startswith("data/prepared/wikipedia/"):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).touch()
    after = asked.all_raw_files(SMALL)
    gone = set(before) - set(after)
    assert gone
    assert gone == {path for path in before if path.startswith("data/raw/wikipedia/")}
    assert asked.raw_files(SimpleNamespace(dataset="wikipedia")) == sorted(gone, key=before.index)


def test_the_first_seed_may_search_for_all(jobs, monkeypatch):
    runs = [SimpleNamespace(experiment="sam", seed=seed) for seed in ("0", "1")]
    spec, before = jobs.params.experiments["sam"], jobs.train(SAM)
    monkeypatch.setattr(spec, "searched_by", "first")
    assert (jobs.train(SAM), [jobs.searched(run) for run in runs]) == (before, [[], []])
    monkeypatch.setattr(spec, "search", {"margin": [0.5, 1.0]})
    assert [jobs.searched(run) for run in runs] == [[], ["models/sam/seed0/model.json"]]
    assert json.loads(jobs.train(SAM))["searched_by"] == "first"


def test_how_many_processes_train_a_fit_changes_no_job(jobs, monkeypatch):
    def asked():
        return jobs.train(SAM), jobs.tabulate(SMALL), draw(jobs, "small/learning")

    before = asked()
    monkeypatch.setattr(jobs.params.experiments["sam"], "gpus", 2)
    assert asked() == before


def test_missing_package_stops_before_the_first_job(jobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jobs.params.feature_of("fc7"), "packages", ("no_such_package",))
    fc7 = SimpleNamespace(dataset="scenes", feature="fc7")
    message = r"features/scenes/fc7\.h5: needs no_such_package; run `pip install \"crossmodal-re"
    with pytest.raises(CrossmodalError, match=message):
        jobs.feature_weights(fc7)
    Path("features/scenes").mkdir(parents=True)
    Path("features/scenes/fc7.h5").touch()  # somebody else made it
    assert jobs.feature_weights(fc7) == []
    monkeypatch.setattr(jobs.params.feature_of("fc7"), "packages", ("numpy",))
    assert jobs.params.lacking("fc7") == []


def test_shards_of_media_change_no_other_specification(jobs, monkeypatch):
    scenes = SimpleNamespace(dataset="scenes", feature="activations", experiment="sam")
    bow = SimpleNamespace(dataset="scenes", feature="bow")

    def asked():
        return jobs.prepare(scenes), jobs.extract(scenes), jobs.train(scenes)

    before = asked()
    assert jobs.shard_size(scenes) is None
    assert jobs.feature_shards(scenes) == jobs.shown_shards(scenes) == []
    monkeypatch.setitem(jobs.params.datasets["scenes"], "max_shard_size", "1GB")
    assert asked() == before
    assert jobs.shard_size(scenes) == 10**9
    assert (
        jobs.feature_shards(scenes) == jobs.shown_shards(scenes) == ["data/prepared/scenes/media"]
    )
    assert jobs.feature_shards(bow) == []  # it reads texts


def test_feature_inputs_are_its_files_and_other_features(jobs):
    fc7 = SimpleNamespace(dataset="scenes", feature="fc7")
    assert jobs.feature_sources(fc7) == ["features/scenes/activations.h5"]
    activations = SimpleNamespace(dataset="scenes", feature="activations")
    assert "data/prepared/scenes/media.zip" in jobs.feature_data(activations)
    assert jobs.feature_sources(activations) == []
    assert jobs.feature_weights(activations) == []


def test_a_fit_needs_labels_splits_and_the_features_of_its_views(jobs):
    assert jobs.labels_and_splits(SAM) == [
        f"data/prepared/scenes/{name}.csv" for name in ("items", "splits")
    ]
    assert jobs.features(SAM) == ["features/scenes/fc7.h5", "features/scenes/bow.h5"]
    assert jobs.weights(SAM) == []


@pytest.mark.parametrize(
    ("rule", "wildcards"),
    [
        ("prepare", SimpleNamespace(dataset="scenes")),
        ("extract", SimpleNamespace(dataset="scenes", feature="bow")),
        *((rule, SAM) for rule in ("train", "embed", "evaluate", "evaluate_intra_modal")),
        *((rule, SAM) for rule in ("evaluate_posteriors", "show_examples", "average_curves")),
        ("tabulate", SMALL),
        ("merge", SimpleNamespace()),
    ],
)
def test_every_job_depends_on_the_code_that_it_runs(rule, wildcards):
    assert len(json.loads(getattr(make(), rule)(wildcards))["code"]) == 16


@pytest.mark.parametrize(
    ("kind", "name", "option"), [("methods", "sam", "margin"), ("features", "bow", "size")]
)
def test_fit_option_is_part_of_all_that_follows(jobs, kind, name, option):
    other = make()
    getattr(other.params, kind)[name][option] *= 2
    for rule in ("train", "embed", "evaluate", "average_curves", "show_examples"):
        assert getattr(jobs, rule)(SAM) != getattr(other, rule)(SAM)
    assert draw(jobs, "similarity/sam") != draw(other, "similarity/sam")


def test_deterministic_setting_is_part_of_gpu_jobs(jobs):
    other = make()
    other.params.deterministic = False
    names = ("activations", "fc7")
    features = (SimpleNamespace(dataset="scenes", feature=name) for name in names)
    fits = [SimpleNamespace(experiment=name) for name in ("sam", "cca")]
    cases = [("extract", f) for f in features] + [(r, f) for r in ("train", "embed") for f in fits]
    differ = [getattr(jobs, rule)(found) != getattr(other, rule)(found) for rule, found in cases]
    assert differ == [True, False] * 3


def test_portable_arithmetic_is_part_of_all_jobs_that_compute(jobs):
    other = make()
    other.params.portable = True
    feature = SimpleNamespace(dataset="scenes", feature="fc7")
    fit = SimpleNamespace(experiment="cca")
    cases = [("extract", feature), ("train", fit), ("embed", fit), ("evaluate", fit)]
    assert all(getattr(jobs, rule)(case) != getattr(other, rule)(case) for rule, case in cases)


def test_another_language_is_part_of_the_jobs_that_read_texts(jobs, monkeypatch):
    cases = [SimpleNamespace(dataset="scenes", feature=name) for name in ("bow", "fc7")]
    before = [json.loads(jobs.extract(case)) for case in cases]
    monkeypatch.setattr(jobs.params.dataset_of("scenes"), "language", "de")
    after = [json.loads(jobs.extract(case)) for case in cases]
    assert after == [before[0] | {"language": "de"}, before[1]]


def test_own_files_of_a_feature_are_part_of_its_job(jobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fc7 = SimpleNamespace(dataset="scenes", feature="fc7")
    before = json.loads(jobs.extract(fc7))
    monkeypatch.setattr(jobs.params.feature_of("fc7"), "files", ("rows.npy",))
    assert json.loads(jobs.extract(fc7)) == before  # the job says that there is none
    digests = set()
    for content in ("1", "2", "2"):
        Path("rows.npy").write_text(content)
        digests.add(json.loads(jobs.extract(fc7))["files"])
    assert len(digests) == 2


def test_table_inputs_are_runs_of_its_kind_and_figures():
    more = {"figures": ["epochs"], "margins": ["sam"], "similarity": ["cca"]}
    jobs = make(retrieval="intra-modal", map={"experiment": "cca"}, **more)
    assert jobs.table_runs(SMALL)[0] == "results/intra_modal/cca/seed0.json"
    assert jobs.table_figures(SMALL) == [
        f"results/figures/{name}.svg"
        for name in (
            *("small/learning", "small/precision_scope", "epochs", "small/map"),
            *("margins/sam", "similarity/cca"),
        )
    ]


def test_a_table_with_two_readouts_needs_the_metrics_of_both():
    own, both = make(), make(readout=["own", "posteriors"])
    more = set(both.table_runs(SMALL)) - set(own.table_runs(SMALL))
    assert more == {p.replace("runs", "posteriors") for p in own.table_runs(SMALL)}


def test_a_table_by_qrels_needs_the_own_metrics_too():
    own, both = make(), make(relevance=["own", "mine/judged.csv"])
    more = set(both.table_runs(SMALL)) - set(own.table_runs(SMALL))
    folder = "results/qrels/small/judged"
    assert more == {p.replace("results/runs", folder) for p in own.table_runs(SMALL)}
    asked = SimpleNamespace(table="small", qrels="judged", experiment="cca", seed="0")
    assert both.qrels(asked) == "mine/judged.csv"
    assert json.loads(both.evaluate_qrels(asked))["fit"] == json.loads(own.evaluate(asked))["fit"]
    assert both.all_prepared_files(SMALL) == own.all_prepared_files(SMALL)


def test_a_table_in_folds_needs_the_metrics_of_its_folds_alone():
    own, parted = make(), make(folds=5)
    folder = "results/folds/5"
    expected = [p.replace("results/runs", folder) for p in own.table_runs(SMALL)]
    assert parted.table_runs(SMALL) == expected
    asked = SimpleNamespace(experiment="cca", folds="5")
    assert json.loads(parted.evaluate_folds(asked))["folds"] == 5


def test_published_qrels_are_prepared_for_tables_that_show_them(monkeypatch):
    monkeypatch.setattr(project_params.PARAMS, "suite", "fne_paper")
    jobs = Jobs(project_params.PARAMS)
    path = "data/prepared/flickr8k/qrels/expert.csv"
    assert jobs.all_prepared_files(SMALL).count(path) == 1
    asked = SimpleNamespace(
        dataset="flickr8k",
        table="flickr8k_relevance",
        qrels="expert",
        experiment="flickr8k_fne_sh",
    )
    assert jobs.qrels(asked) == path
    assert jobs.judged_files(asked) == ["data/raw/flickr8k/Flickr8k_text.zip"]
    assert json.loads(jobs.judge(asked))["plugin"] == "flickr8k"


@pytest.mark.parametrize(
    ("small", "message"),
    [
        ({"relevance": ["expert"]}, "tables.small.relevance of scenes: 'expert' is unknown"),
        ({"relevance": ["own", "a/q.csv", "b/q.csv"]}, "'a/q.csv' would share its columns"),
        ({"relevance": ["own.csv"]}, "'own.csv' would share its columns"),
        ({"relevance": ["my qrels.csv"]}, "use letters, digits"),
        ({"metrics": ["nDCG@10"]}, "nDCG@10 is of qrels; name some in `relevance`"),
        ({"retrieval": "intra-modal", "relevance": ["own", "q.csv"]}, "there is own alone"),
        ({"folds": 5, "relevance": ["own", "q.csv"]}, "in folds there is own alone"),
        ({"folds": 5, "retrieval": "intra-modal"}, "folds: of cross-modal retrieval alone"),
        ({"folds": 1}, "greater than or equal to 2"),
    ],
)
def test_relevance_that_means_nothing_is_refused(small, message):
    with pytest.raises(CrossmodalError, match=re.escape(message)):
        make(**small)


def test_changes_of_the_dataset_are_part_of_what_reads_it(jobs):
    other = make()
    other.params.experiments["sam"].changes = Changes(label="noisy", wrong_labels=0.3)
    for rule in ("train", "embed", "evaluate_posteriors", "evaluate"):
        assert getattr(jobs, rule)(SAM) != getattr(other, rule)(SAM)
    assert "noisy" not in other.train(SAM)


@pytest.mark.parametrize("suite", ["sam_paper", "cmolrs_paper"])
def test_the_suite_of_a_paper_has_all_its_tables_and_figures(suite):
    jobs = Jobs(project_params.PARAMS.model_copy(update={"suite": suite}))
    params = jobs.params
    found = [params.experiments[name].published for name in jobs.experiments()]
    paper = suite.split("_")[0].upper()
    tables = {source.table for source in found if source and source.paper == paper}
    printed = {"SAM": ["1", "2"], "CMOLRS": ["I", "II", "III", "IV", "V", "VI", "VII"]}[paper]
    assert tables == {f"Table {number}" for number in printed}
    figures = [f for table in jobs.suite for f in params.tables[table].figures]
    drawn = {(params.figures[f].x, params.figures[f].y) for f in figures}
    of_paper = {
        "SAM": {("epoch", "alpha"), ("activation", "mAP")},
        "CMOLRS": {
            *(("step", "seconds"), ("step", "validation")),
            *(("margin_scale", "mAP"), ("margin_scale", "training time (s)")),
        },
    }
    assert drawn == of_paper[paper]
    for name in figures:
        assert Drawings(jobs).inputs(SimpleNamespace(drawing=name))
        assert json.loads(draw(jobs, name))["drawing"]["experiments"]


def test_a_table_names_datasets_that_depart_from_the_papers(monkeypatch):
    jobs = make()
    assert json.loads(jobs.tabulate(SMALL))["departures"] == []
    dataset = jobs.params.dataset_of("scenes")
    monkeypatch.setattr(dataset, "departure", lambda: "has fewer items")
    assert json.loads(jobs.tabulate(SMALL))["departures"] == ["`scenes` has fewer items."]


def test_curves_are_averaged_over_the_seeds(jobs):
    assert jobs.training_logs(SAM) == [f"models/sam/seed{seed}/curve.csv" for seed in (0, 1)]
