"""A full disk, and licences."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.workflow.project import copied

LICENSED = '''"""Scenes that may not be passed on."""

from crossmodal.datasets.scenes import Scenes


class Licensed(Scenes):
    """Raw data and models stay here, features may go."""

    redistribution = False
    shares_models = False
'''
LABELS = '''"""The category as a one-hot vector."""

import numpy as np

from crossmodal.data.feature import Feature


class Labels(Feature):
    """One-hot rows, (n, 10), and a little noise."""

    modality = "image"
    invertible = False
    reads = ("items.csv",)

    def extract(self, dataset, rows, sources):
        """By name."""
        names = sorted({item.category for item in dataset.items})
        return np.array([[item.category == name for name in names] for item in rows], np.float32)
'''
WORDS = '''"""The category as a word."""

from crossmodal.features.labels import Labels


class Words(Labels):
    """One-hot rows, (n, 10)."""

    modality = "text"
'''


@pytest.fixture
def disk(tmp_path):
    """A disk of its own, of 100 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100m", "tmpfs", disk])
    if mount.returncode:
        pytest.skip("needs the right to mount a disk")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def resize(disk, size):
    """Give a disk so many bytes."""
    subprocess.run(["mount", "-o", f"remount,size={size}", disk], check=True)


def test_a_full_disk_is_named_and_the_same_command_resumes(disk, untouched):
    project = copied(untouched.folder, disk / "project")
    project.run("--until", "prepare", "features/scenes/fc7.h5")
    usage = shutil.disk_usage(disk)
    resize(disk, usage.used + 3_000_000)  # the activations have five
    output = project.run("features/scenes/fc7.h5", fails=True)
    assert "No space left on device" in output
    assert "free some space and run the same command again" in output
    features = project.folder / "features/scenes"
    assert not [path for path in features.rglob("*") if path.is_file()]
    resize(disk, usage.total)
    output = project.run("features/scenes/fc7.h5")
    assert "rule prepare:" not in output
    assert (features / "fc7.h5").exists()


@pytest.mark.parametrize("room", [0, 40_000])
def test_a_disk_full_before_the_first_job_is_one_line(disk, untouched, room):
    project = copied(untouched.folder, disk / "project")
    resize(disk, shutil.disk_usage(disk).used + room)
    output = project.run(fails=True)
    line = "No space left on device; free some space and run the same command again"
    assert output.count(line) == 1
    assert "Traceback" not in output
    assert "File " not in output


@pytest.fixture
def licensed(fresh):
    """A project on a dataset that forbids much."""
    plugins = fresh.folder / "src/crossmodal"
    (plugins / "datasets/licensed.py").write_text(LICENSED)
    (plugins / "features/labels.py").write_text(LABELS)
    (plugins / "features/words.py").write_text(WORDS)
    params = fresh.params()
    params["datasets"] = {"licensed": params["datasets"]["scenes"]}
    params["features"] = {"labels": {}, "words": {}}
    params["methods"] = {"cca": params["methods"]["cca"] | {"dims": 5}}
    params["experiments"] = {"cca": params["experiments"]["cca"]}
    params["experiments"]["cca"] |= {
        "dataset": "licensed",
        "views": {"image": "labels", "text": "words"},
        "seeds": 1,
    }
    params["tables"]["small"]["experiments"] = ["cca"]
    fresh.write_params(params)
    return fresh


def test_what_a_licence_forbids_is_not_pushed(licensed, tmp_path):
    output = licensed.call("dvc", "repro", fails=True)
    assert ".dvcignore was brought up to date" in output
    licensed.call("dvc", "repro")
    licensed.call("dvc", "remote", "add", "--default", "team", str(tmp_path / "remote"))
    licensed.call("dvc", "push")
    pushed = {path.read_bytes() for path in (tmp_path / "remote").rglob("*") if path.is_file()}

    def is_pushed(output):
        return (licensed.folder / output).read_bytes() in pushed

    for output in ("captions.csv", "media.zip"):
        assert not is_pushed(f"data/prepared/licensed/{output}")
    for output in ("items.csv", "splits.csv"):
        assert is_pushed(f"data/prepared/licensed/{output}")
    for output in ("models/cca/seed0/model.safetensors", "embeddings/cca/seed0.h5"):
        assert not is_pushed(output)
    for output in ("features/licensed/words.h5", "results/metrics.json"):
        assert is_pushed(output)
    check_colleague(licensed, tmp_path / "b")


def check_colleague(licensed, where):
    """A colleague may train on the features without the raw data."""
    licensed.record()
    licensed.call("git", "clone", "--quiet", str(licensed.folder), str(where))
    colleague = type(licensed)(Path(where))
    colleague.call("env", "PYTHONPATH=src", "python", "-m", "crossmodal", "pull")
    assert colleague.jobs() == {}
    shutil.rmtree(where / "results")
    (where / "results").mkdir()
    due = colleague.jobs().keys()
    assert due >= {"train", "embed"}
    assert not {"prepare", "extract"} & due
