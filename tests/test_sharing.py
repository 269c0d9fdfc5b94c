import hashlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
import yaml
from dvc.repo import Repo

from crossmodal import sharing
from crossmodal.errors import CrossmodalError
from crossmodal.params import read

ROOT = Path(__file__).parents[1]


class Allowed:
    redistribution = shares_features = shares_models = True


class Forbidden:
    redistribution = shares_features = shares_models = False


class InPart:
    redistribution, shares_features, shares_models = False, True, True


class Params:
    datasets: ClassVar = {"open": {}, "closed": {}, "part": {}}
    features: ClassVar = {"fne": {}, "pictures": {}}
    experiments: ClassVar = {
        name: type("Experiment", (), {"dataset": dataset})
        for name, dataset in (("mine", "open"), ("theirs", "closed"))
    }

    def dataset_of(self, name):
        return {"open": Allowed, "closed": Forbidden, "part": InPart}[name]

    def feature_of(self, name):
        return SimpleNamespace(media=name == "pictures")

    def plugin(self, kind, name):
        return {"plugin": f"{name}_plugin"}


def is_ignored(folder, path):
    """What DVC makes of the patterns."""
    with Repo(str(folder)) as repo:
        return bool(repo.dvcignore.is_ignored_file(str(folder / path)))


@pytest.fixture
def repo(tmp_path):
    Repo.init(str(tmp_path), no_scm=True).close()
    (tmp_path / ".dvcignore").write_text(sharing.ignored(Params()))
    return tmp_path


@pytest.mark.parametrize(
    ("path", "shared"),
    [
        ("data/raw/open_plugin/images.zip", True),
        ("data/raw/closed_plugin/images.zip", False),
        ("data/raw/unknown/images.zip", False),
        ("data/raw/weights/vgg16.safetensors", True),
        ("results/examples/theirs.html", False),
        ("data/prepared/open/captions.csv", True),
        ("data/prepared/open/media.zip", True),
        ("data/prepared/closed/captions.csv", False),
        ("data/prepared/closed/media.zip", False),
        ("data/prepared/closed/items.csv", True),
        ("data/prepared/closed/splits.csv", True),
        ("data/prepared/closed/.records.json", True),
        ("features/open/fne.h5", True),
        ("features/closed/fne.h5", False),
        ("features/part/fne.h5", True),
        ("features/part/pictures.h5", False),
        ("features/open/pictures.h5", True),
        ("data/prepared/part/media.zip", False),
        ("models/mine/seed0/model.safetensors", True),
        ("models/theirs/seed0/model.safetensors", False),
        ("embeddings/theirs/seed0.h5", False),
        ("results/tables/all.md", True),
        ("src/crossmodal/sharing.py", True),
        ("src/crossmodal/__pycache__/sharing.cpython-311.pyc", False),
    ],
)
def test_only_what_a_dataset_allows_is_versioned(repo, path, shared):
    (repo / path).parent.mkdir(parents=True)
    (repo / path).write_text("content")
    assert is_ignored(repo, path) == (not shared)


def test_the_committed_patterns_are_those_of_the_committed_params():
    wanted = sharing.ignored(read(ROOT / "params.yaml"))
    assert (ROOT / ".dvcignore").read_text() == wanted


def test_files_that_differ_from_the_lock_are_found_and_the_damaged_copy_removed(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(sharing, "_cached", lambda name: tmp_path / "cache" / name)
    (tmp_path / "cache").mkdir()
    entries = []
    for name, found in (("right", b"right"), ("wrong", b"WRONG"), ("edited", b"mine")):
        md5 = hashlib.md5(name.encode()).hexdigest()
        entries.append({"relpath": name, "md5": md5})
        (tmp_path / name).write_bytes(found)
        (tmp_path / "cache" / md5).write_bytes(b"WRONG" if name == "wrong" else name.encode())
    entries.append({"relpath": "missing", "md5": "0"})
    (tmp_path / "cache/listing").write_text(json.dumps(entries))
    wrong = sharing._wrong_files(tmp_path, "listing")
    found = [Path(line.split(" (")[0]).name for line in wrong]
    assert found == ["wrong", "edited", "missing"]
    left = [(tmp_path / "cache" / entry["md5"]).exists() for entry in entries]
    assert left == [True, False, True, False]


def test_a_pull_without_a_lock_or_of_an_unknown_output_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CrossmodalError, match=r"dvc\.lock: No such file.*dvc push"):
        sharing.pull([])
    lock = {"stages": {"extract": {"outs": [{"path": "features", "md5": "0"}]}}}
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump(lock))
    with pytest.raises(CrossmodalError, match=r"feature: not an output.*outputs: features"):
        sharing.pull(["feature"])
