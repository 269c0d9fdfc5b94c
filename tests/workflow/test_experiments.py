from pathlib import Path
from types import SimpleNamespace

import pytest

from crossmodal.datasets.folder import Folder
from crossmodal.errors import CrossmodalError
from crossmodal.workflow.experiments import refuse_missing_data

OPTIONS = {"csv": "own/items.csv", "validation": 0.2, "test": 0.2, "seed": 0, "duplicates": "warn"}


@pytest.fixture
def refuse(tmp_path, monkeypatch):
    """Refuse, in the folder of an experiment, what a dataset with some options lacks there."""
    folder = tmp_path / ".dvc/tmp/exps/tmp1"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)

    def refuse(files=(), **changes):
        dataset = Folder(**OPTIONS | changes)
        features = {"rows": SimpleNamespace(files=files), "fc7": SimpleNamespace(files=())}
        params = SimpleNamespace(dataset_of={"own": dataset}.get, feature_of=features.get)
        refuse_missing_data(params, ["own"], features)

    return refuse


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({}, "--copy-paths own"),
        ({"root": "photos"}, "--copy-paths own --copy-paths photos"),
        ({"root": "own"}, "--copy-paths own"),
        ({"files": ("a.npy", "own")}, "--copy-paths own --copy-paths a.npy"),
        ({"csv": "items.csv", "root": "/"}, "--copy-paths items.csv"),
    ],
)
def test_data_that_an_experiment_lacks_are_named(refuse, changes, options):
    with pytest.raises(CrossmodalError, match=f"git has; .*: dvc exp run {options} with --temp"):
        refuse(**changes)


def test_an_experiment_that_has_its_data_begins(refuse):
    Path("own").mkdir()
    refuse()


def test_data_are_left_to_prepare_elsewhere(refuse, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refuse()
