import csv
import json
import random
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from safetensors.numpy import load_file

from crossmodal.data.feature_file import write_features
from crossmodal.data.feature_reader import read_features
from crossmodal.data.prepared import REMARKS
from crossmodal.errors import CrossmodalError, DivergenceError
from crossmodal.io.checkpoints import FOLDER
from crossmodal.io.files import write_json
from crossmodal.learning.method import Method
from crossmodal.models.model_folder import MODEL_FILES
from crossmodal.steps.train import train
from crossmodal.workflow.specs import TrainSpec
from tests.test_fuzz import mutate
from tests.workflow.project import TIMINGS

SPEC = {
    "plugin": "toy",
    "options": {"noise": 0.0, "step": 1},
    "search": {},
    "views": {"image": "pixels", "text": "words"},
    "relevance": "category",
    "code": "0123",
}


class Toy(Method):
    """Embeds labels under noise: the less noise, the better; `step` changes nothing."""

    task = "category"

    def __init__(self, noise, step, fitted, stop_at):
        self.noise, self.step, self.fitted, self.stop_at = noise, step, fitted, stop_at

    def fit(self, train, validation, run):
        if len(self.fitted) == self.stop_at:
            raise KeyboardInterrupt
        if self.noise < 0:
            raise DivergenceError(f"noise {self.noise} is too low")
        for split in (train, validation):
            for view in split.views.values():
                assert np.isfinite(view.features).all()
        self.fitted.append((self.noise, self.step))
        self.labels = {len(train.items): train.labels, len(validation.items): validation.labels}
        run.curve.append({"epoch": 1, "loss": self.noise})
        transposed = np.array([[self.noise, 1.0], [2.0, run.seed]]).T
        self.arrays = {"noise": np.array(self.noise), "map": transposed}

    def embed(self, modality, view):
        labels = self.labels[view.items[-1] + 1][view.items]
        rng = np.random.default_rng(list(modality.encode()))
        return labels + self.noise * rng.standard_normal(labels.shape)


@pytest.fixture
def run(planted, tmp_path, monkeypatch):
    """Train toy methods; the outputs' folder, and which options were fitted."""
    data = planted()

    def run(search=None, stop_at=None, output=None, seed=3, **changes):
        fitted = []

        def make(kind, name, options, where):
            return Toy(**options, fitted=fitted, stop_at=stop_at)

        monkeypatch.setattr("crossmodal.config.plugins.make", make)
        spec = TrainSpec(**(SPEC | {"search": search or {}} | changes))
        output = output or Path("models/toy/seed3")
        try:
            train(
                spec,
                output / "model.safetensors",
                data.folder,
                data.features,
                Path("weights"),
                seed,
            )
        except KeyboardInterrupt:
            return None, fitted
        return output, fitted

    run.data = data
    return run


def facts_of(output):
    return json.loads((output / "model.json").read_text())["fit"]


def test_a_run_writes_model_facts_and_curve(run):
    output, fitted = run()
    assert sorted(path.name for path in output.iterdir()) == sorted(MODEL_FILES)
    state = load_file(output / "model.safetensors")
    np.testing.assert_array_equal(state["map"], [[0.0, 2.0], [1.0, 3.0]])
    assert state["noise"].shape == ()
    with (output / "curve.csv").open() as stream:
        assert list(csv.DictReader(stream)) == [{"epoch": "1", "loss": "0.0"}]
    facts = facts_of(output)
    assert facts["plugin"] == "toy"
    assert facts["options"] == SPEC["options"]
    assert facts["last_epoch"] == {"epoch": 1, "loss": 0.0}
    assert (facts["seed"], facts["searched"], facts["validation"]) == (3, {}, 1.0)
    assert facts["search"] == [{"searched": {}, "validation": 1.0}]
    assert fitted == [(0.0, 1)]


def test_remarks_on_the_data_are_facts_of_the_fit(run):
    assert "remarks" not in facts_of(run()[0])
    write_json(run.data.folder / REMARKS, ["has 3 clips without samples"])
    output, _ = run(output=Path("models/toy/seed4"))
    assert facts_of(output)["remarks"] == ["has 3 clips without samples"]


@pytest.mark.parametrize("values", [[0.9, 0.0, 2.0], [0.0, 2.0, 0.9], [2.0, 0.9, 0.0]])
def test_the_options_with_the_best_validation_score_are_kept(run, values):
    output, fitted = run({"noise": values})
    facts = facts_of(output)
    assert facts["searched"] == {"noise": 0.0}
    assert facts["options"] == {"noise": 0.0, "step": 1}
    assert load_file(output / "model.safetensors")["noise"] == 0.0
    assert fitted == [(value, 1) for value in values]
    scores = {found["searched"]["noise"]: found["validation"] for found in facts["search"]}
    assert scores[0.0] == facts["validation"] == 1.0
    assert scores[0.0] > scores[0.9] > scores[2.0]


def test_a_seed_takes_the_options_that_the_first_one_has_found(run):
    search, first = {"noise": [0.9, 0.0], "step": [1, 2]}, {"searched_by": "first"}
    folder = Path("models/toy")
    run(search, output=folder / "seed0", seed=0, **first)
    output, fitted = run(search, output=folder / "seed1", seed=1, **first)
    assert fitted == [(0.0, 1)]
    facts = facts_of(output)
    assert (facts["seed"], facts["searched"]) == (1, {"noise": 0.0, "step": 1})
    assert len(facts["search"]) == 1
    assert str(folder / "seed0/model.json") in facts["made"]["inputs"]


def test_a_seed_waits_for_the_search_of_the_first_one(run):
    with pytest.raises(CrossmodalError, match=r"seed0/model\.json: .*make it first"):
        run({"noise": [0.9, 0.0]}, seed=3, searched_by="first")


@pytest.mark.parametrize("values", [[5, 2, 9], [9, 5, 2], [2, 9, 5]])
def test_of_equally_good_options_the_first_is_kept(run, values):
    output, _ = run({"step": values})
    assert facts_of(output)["searched"] == {"step": values[0]}


def test_every_combination_is_fitted(run):
    _, fitted = run({"noise": [0.9, 0.0], "step": [1, 2]})
    assert fitted == [(0.9, 1), (0.9, 2), (0.0, 1), (0.0, 2)]


@pytest.mark.parametrize("values", [[-1.0, 0.9, 0.0], [0.9, -1.0, 0.0], [0.9, 0.0, -1.0]])
def test_options_that_diverge_are_not_chosen(run, values):
    output, fitted = run({"noise": values})
    facts = facts_of(output)
    assert facts["searched"] == {"noise": 0.0}
    assert fitted == [(0.9, 1), (0.0, 1)]
    assert [found["searched"]["noise"] for found in facts["search"]] == values
    told = [found for found in facts["search"] if "validation" not in found]
    assert told == [{"searched": {"noise": -1.0}, "diverged": "noise -1.0 is too low"}]


@pytest.mark.parametrize("search", [{"noise": [-1.0, -2.0]}, {"noise": [-2.0]}])
def test_a_fit_fails_where_all_options_diverge(run, search):
    with pytest.raises(DivergenceError, match=r"noise -2\.0 is too low"):
        run(search)


@pytest.mark.parametrize("stop", [0, 1, 2])
def test_a_stopped_search_does_not_fit_again_what_it_has(run, stop):
    search = {"noise": [0.9, 0.0, 2.0]}
    output, fitted = run(search, stop_at=stop)
    assert output is None
    output, further = run(search)
    assert fitted + further == [(0.9, 1), (0.0, 1), (2.0, 1)]
    assert facts_of(output)["searched"] == {"noise": 0.0}
    assert len(facts_of(output)["search"]) == 3


@pytest.mark.parametrize("name", MODEL_FILES)
@pytest.mark.parametrize("case", range(4))
def test_a_damaged_candidate_is_named_and_fitted_again(run, tmp_path, capsys, name, case):
    search = {"noise": [2.0, 0.0, 4.0]}
    output, _ = run(search)
    expected = [read_untimed(output / name) for name in MODEL_FILES]
    shutil.rmtree(output)
    run(search, stop_at=2)
    (path,) = (tmp_path / FOLDER).rglob(f"candidate1/{name}")
    path.write_bytes(mutate(path.read_bytes(), random.Random(case)) + b"0")
    output, fitted = run(search)
    assert fitted == [(0.0, 1), (4.0, 1)]
    assert [read_untimed(output / name) for name in MODEL_FILES] == expected
    assert f"{path.relative_to(tmp_path)}: damaged, and set aside" in capsys.readouterr().err


def read_untimed(path):
    """Content of a file of a model, without times and memory."""
    if path.name != "model.json":
        return path.read_bytes()
    fit = facts_of(path.parent)
    return {key: value for key, value in fit.items() if key not in TIMINGS}


def test_a_stopped_search_leaves_no_outputs(run, tmp_path):
    run({"noise": [0.9, 0.0]}, stop_at=1)
    assert not list(tmp_path.glob("models/**/*.*"))


def test_a_finished_run_leaves_no_checkpoint(run):
    run({"noise": [0.9, 0.0]}, stop_at=1)
    assert list(FOLDER.rglob("model.safetensors"))
    run({"noise": [0.9, 0.0]})
    assert not list(FOLDER.rglob("model.*"))


@pytest.mark.parametrize("changes", [{"code": "4567"}, {"seed": 4}, {"relevance": "labels"}])
def test_other_code_or_another_seed_or_protocol_starts_afresh(run, changes):
    search = {"noise": [0.9, 0.0]}
    run(search, stop_at=1)
    _, fitted = run(search, **changes)
    assert fitted == [(0.9, 1), (0.0, 1)]


@pytest.mark.parametrize("name", MODEL_FILES)
def test_run_stopped_while_placing_files_resumes(run, tmp_path, name):
    """A folder in the way of one file stands for the kill."""
    obstacle = tmp_path / "models/toy/seed3" / name / "in the way"
    obstacle.mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        run()
    obstacle.rmdir()
    obstacle.parent.rmdir()
    output, _ = run()
    assert sorted(path.name for path in output.iterdir()) == sorted(MODEL_FILES)


def test_outputs_may_be_named_by_an_absolute_path(run, tmp_path):
    output, _ = run(output=tmp_path / "elsewhere" / "seed0")
    assert sorted(path.name for path in output.iterdir()) == sorted(MODEL_FILES)


def rewrite(run, change):
    """Replace the feature files by what `change` makes of their content."""
    splits = run.data.dataset.splits
    for path in run.data.features.iterdir():
        content = read_features(path)
        in_test = np.array([splits[item] == "test" for item in content.items])
        content = change(content, in_test)
        write_features(path, content.ids, content.items, [content.features], content.meta)


def test_training_does_not_see_the_features_of_the_test_split(run):
    def spoil(content, in_test):
        content.features[in_test] = 1e30
        return content

    rewrite(run, spoil)
    output, _ = run()
    assert facts_of(output)["validation"] == 1.0


def test_training_does_not_need_the_features_of_the_test_split(run):
    rewrite(run, lambda content, in_test: content.take(np.flatnonzero(~in_test)))
    output, _ = run()
    assert facts_of(output)["validation"] == 1.0


@pytest.mark.parametrize("name", ["items.csv", "splits.csv", "words.h5"])
def test_a_missing_input_is_named(run, name):
    for folder in (run.data.folder, run.data.features):
        (folder / name).unlink(missing_ok=True)
    with pytest.raises(CrossmodalError, match=name):
        run()


def test_a_corrupt_feature_file_is_named(run):
    path = run.data.features / "words.h5"
    with h5py.File(path, "a") as file:
        del file["features"]
    with pytest.raises(CrossmodalError, match=r"words\.h5"):
        run()


def test_training_rows_that_are_all_equal_are_refused(run):
    def level(content, in_test):
        content.features[~in_test] = 0.1
        return content

    rewrite(run, level)
    with pytest.raises(CrossmodalError, match=r"h5: all \d+ training rows of image are equal"):
        run()


def test_a_method_that_trains_on_one_gpu_refuses_two(run, monkeypatch):
    monkeypatch.setattr("crossmodal.steps.train.processes", lambda: 2)
    with pytest.raises(CrossmodalError, match="gpus: is 2, but the method 'toy' trains on one"):
        run()
