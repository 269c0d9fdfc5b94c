import json
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
import yaml
from dvc.repo import Repo

from crossmodal.config import plugins
from crossmodal.errors import CrossmodalError
from crossmodal.workflow import sharing
from tests.project_params import PARAMS

ROOT = Path(__file__).parents[2]


class Allowed:
    licence = "CC0-1.0"
    redistribution = shares_features = shares_models = True


class Forbidden:
    licence = "research only"
    redistribution = shares_features = shares_models = False


class InPart:
    licence = "research only"
    redistribution, shares_features, shares_models = False, True, True


class Params:
    datasets: ClassVar = {"open": {}, "closed": {}, "part": {}}
    features: ClassVar = {"fne": {}, "tokens": {}, "array": {}}
    broken: ClassVar = {}
    experiments: ClassVar = {
        name: SimpleNamespace(dataset=dataset, views={"image": feature})
        for name, dataset, feature in (
            ("mine", "open", "fne"),
            ("theirs", "closed", "fne"),
            ("on_arrays", "open", "array"),
        )
    }

    def dataset_of(self, name):
        return {"open": Allowed, "closed": Forbidden, "part": InPart}[name]

    def usable(self, kind):
        return [*getattr(self, kind)]

    def feature_of(self, name):
        return SimpleNamespace(
            invertible=name != "fne", files=("mine.npy",) if name == "array" else ()
        )

    def plugin(self, kind, name):
        return {"plugin": f"{name}_plugin"}


PATHS = {
    "data/raw/open_plugin/images.zip": True,
    "data/raw/closed_plugin/images.zip": False,
    "data/raw/unknown/images.zip": False,
    "data/raw/weights/vgg16.safetensors": True,
    "results/examples/theirs.html": False,
    "data/prepared/open/captions.csv": True,
    "data/prepared/open/media.zip": True,
    "data/prepared/closed/captions.csv": False,
    "data/prepared/closed/media.zip": False,
    "data/prepared/closed/items.csv": True,
    "data/prepared/closed/splits.csv": True,
    "data/prepared/closed/.records.json": True,
    "features/open/fne.h5": True,
    "features/closed/fne.h5": False,
    "features/part/fne.h5": True,
    "features/part/tokens.h5": False,
    "features/open/tokens.h5": True,
    "features/open/array.h5": False,
    "features/part/.records.json": True,
    "features/open/fne.parts/1-of-2.zip": False,
    "features/open/fne.parts/1-of-2.tsv": True,
    "features/part/dropped.h5": False,
    "features/dropped/fne.h5": False,
    "data/prepared/dropped/captions.csv": False,
    "data/prepared/open/.unfinished-a1/new.zip": False,
    "features/open/.unfinished-a1/new.h5": False,
    "data/prepared/part/media.zip": False,
    "data/prepared/open/media/media-00000.zip": True,
    "data/prepared/closed/media/media-00000.zip": False,
    "data/prepared/part/media/media-00000.zip": False,
    "models/mine/seed0/model.safetensors": True,
    "models/theirs/seed0/model.safetensors": False,
    "embeddings/theirs/seed0.h5": False,
    "embeddings/on_arrays/seed0.h5": False,
    "models/on_arrays/seed0/model.safetensors": False,
    "results/tables/all.md": True,
    "src/crossmodal/sharing.py": True,
    "src/crossmodal/__pycache__/sharing.cpython-311.pyc": False,
}


@pytest.fixture(scope="module")
def versioned(tmp_path_factory):
    """All files that DVC would version."""
    folder = tmp_path_factory.mktemp("repo")
    Repo.init(str(folder), no_scm=True).close()
    (folder / ".dvcignore").write_text(sharing.ignored(Params()))
    for path in PATHS:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("content")
    with Repo(str(folder)) as repo:
        return {*repo.dvcignore.find(repo.fs, str(folder))}, folder


@pytest.mark.parametrize(("path", "shared"), PATHS.items())
def test_only_what_a_dataset_allows_is_versioned(versioned, path, shared):
    files, folder = versioned
    assert (str(folder / path) in files) == shared


def refused(*paths):
    """The message that refuses an upload of some paths."""
    with pytest.raises(CrossmodalError) as caught:
        sharing.refuse_upload(Params(), map(Path, paths))
    return str(caught.value)


PART_FILE = "features/open/fne.parts/1-of-2.zip"  # another run makes it anew


@pytest.mark.parametrize("path", [path for path, shared in PATHS.items() if not shared])
def test_what_is_not_versioned_is_not_uploaded(path):
    if path == PART_FILE:
        sharing.refuse_upload(Params(), [Path(path)])
    else:
        assert path in refused(path, *(path for path, shared in PATHS.items() if shared))


def test_folders_of_closed_shards_are_not_uploaded():
    sharing.refuse_upload(Params(), [Path("data/prepared/open/media")])
    assert "data/prepared/part/media:" in refused("data/prepared/part/media")


def test_what_is_versioned_may_be_uploaded():
    sharing.refuse_upload(Params(), [Path(path) for path, shared in PATHS.items() if shared])


def test_parts_of_a_closed_feature_are_not_uploaded():
    path = "features/part/tokens.parts/1-of-2.zip"
    assert path in refused(path)
    assert "`private_storage: true`" in refused(path)


def test_closed_models_stay_closed_without_their_experiment():
    before = sharing.ignored(Params())
    assert "/models/theirs" in before.splitlines()

    class Later(Params):
        experiments: ClassVar = {"mine": Params.experiments["mine"]}

    after = sharing.ignored(Later(), before)
    assert {"/models/theirs", "/embeddings/theirs"} <= {*after.splitlines()}
    assert sharing.ignored(Later(), after) == after


def test_models_open_when_their_dataset_is_open():
    class Later(Params):
        experiments: ClassVar = {"theirs": Params.experiments["mine"]}

    assert "/models/theirs" not in sharing.ignored(Later(), sharing.ignored(Params()))


@pytest.mark.parametrize("name", plugins.names("features"))
def test_features_are_shared_where_nothing_comes_back_from_them(name):
    opened = {"activations", "fc7", "fne"}
    assert plugins.load("features", name).invertible == (name not in opened)


def test_committed_patterns_are_those_of_committed_params():
    wanted = sharing.ignored(PARAMS)
    assert (ROOT / ".dvcignore").read_text() == wanted


def test_pull_without_lock_or_of_unknown_output_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CrossmodalError, match=r"dvc\.lock: No such file.*dvc push"):
        sharing.pull([])
    lock = {"stages": {"extract": {"outs": [{"path": "features", "md5": "0" * 32 + ".dir"}]}}}
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump(lock))
    with pytest.raises(CrossmodalError, match=r"feature: not an output.*outputs: features"):
        sharing.pull(["feature"])


def test_conflict_marks_of_git_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "stages:\n<<<<<<< HEAD\n  a: {}\n=======\n  b: {}\n>>>>>>> other\n"
    (tmp_path / "dvc.lock").write_text(text)
    message = "dvc.lock has conflict marks: see docs/sharing.md"
    with pytest.raises(CrossmodalError, match=message):
        sharing.pull([])


@pytest.mark.parametrize("md5", ["0", "../../x", "0" * 32, "0" * 32 + ".dir\n", ["a"], None])
def test_a_lock_of_another_shape_is_refused(tmp_path, monkeypatch, md5):
    monkeypatch.chdir(tmp_path)
    lock = {"stages": {"extract": {"outs": [{"path": "features", "md5": md5}]}}}
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump(lock))
    with pytest.raises(CrossmodalError, match=r"dvc\.lock: not as DVC writes it"):
        sharing.pull([])


FEATURES = {"path": "features", "hash": "md5", "md5": "0" * 32 + ".dir", "size": 1, "nfiles": 1}


@pytest.mark.parametrize(
    "outs",
    [
        [{**FEATURES, "files": [{"relpath": "../plugins/x.py", "md5": "0" * 32}]}],
        [{**FEATURES, "cloud": {}}],
        [FEATURES, {**FEATURES, "md5": "1" * 32 + ".dir"}],
    ],
    ids=["files beside the listing", "versions of a cloud", "two listings"],
)
def test_a_lock_has_one_list_of_files_for_each_output(tmp_path, monkeypatch, outs):
    monkeypatch.chdir(tmp_path)
    lock = {"stages": {f"stage{i}": {"outs": [out]} for i, out in enumerate(outs)}}
    (tmp_path / "dvc.lock").write_text(json.dumps(lock))
    with pytest.raises(
        CrossmodalError, match=r"dvc\.lock: not as DVC writes it.*(files|cloud|two)"
    ):
        sharing.pull([])


def test_a_deep_lock_is_refused_before_it_crashes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dvc.lock").write_text("stages: " + "[" * 100_000)
    with pytest.raises(CrossmodalError, match=r"dvc\.lock: line 1: more than 50 brackets are open"):
        sharing.pull([])
