"""What may not be passed on stays here, whatever is killed and whatever params.yaml drops."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from crossmodal.steps.extract import extract
from crossmodal.steps.prepare import prepare
from crossmodal.workflow.specs import ExtractSpec, PrepareSpec
from tests.workflow.project import PARAMS

MOMENTS = 10  # of each job
EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"}
SPLIT = {"validation": 0.2, "test": 0.2, "seed": 0, "duplicates": "warn"}
OPTIONS = {"csv": "mine/items.csv", **SPLIT}
TOKENS = {
    "fit_on": ["train"],
    "min_count": 1,
    "bos": True,
}
FEATURES = {"tokens": TOKENS, "pictures": {}}


@pytest.fixture
def private(fresh, monkeypatch):
    """A project on own data, with features that hold texts and images; the working folder."""
    folder = fresh.folder / "mine"
    folder.mkdir()
    rng = np.random.default_rng(0)
    rows = ["id,image,text,labels"]
    for number in range(12):
        pixels = rng.integers(0, 256, (8, 8, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
        rows.append(f"item{number},{number}.png,secret word{number},red")
    (folder / "items.csv").write_text("\n".join(rows))
    params = fresh.params()
    params["datasets"] = {"mine": {"plugin": "folder", **OPTIONS}}
    params["features"] |= FEATURES
    for experiment in params["experiments"].values():
        experiment["dataset"] = "mine"
    fresh.write_params(params)
    fresh.run("--dry-run")  # writes .dvcignore
    fresh.call("dvc", "remote", "add", "--default", "team", "remote")
    monkeypatch.chdir(fresh.folder)
    return fresh


def jobs():
    """What makes the files of the dataset and of the features."""
    data, features, raw = Path("data/prepared/mine"), Path("features/mine"), Path("data/raw")
    raw.mkdir(parents=True, exist_ok=True)
    yield lambda: prepare(PrepareSpec(plugin="folder", options=OPTIONS), raw, data)
    for name, options in FEATURES.items():
        spec = ExtractSpec(plugin=name, options=options)
        yield lambda spec=spec, output=features / f"{name}.h5": extract(
            spec, output, data, features, raw
        )


def killed_at(moment, job):
    """Run a job in a process that is killed when it is about to change or open its nth file; how
    many files it came to.
    """
    read, write = os.pipe()
    if (process := os.fork()) == 0:
        happened = 0

        def count(event, _):
            nonlocal happened
            if event in EVENTS:
                happened += 1
                if happened == moment:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        try:
            job()
        finally:
            os.write(write, happened.to_bytes(4))
            os.kill(os.getpid(), signal.SIGKILL)
    os.close(write)
    os.waitpid(process, 0)
    with os.fdopen(read, "rb") as stream:
        return int.from_bytes(stream.read())


def holds(folder, secrets):
    """Whether a file below a folder holds one of the secrets."""
    contents = [path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()]
    return any(secret in content for secret in secrets for content in contents)


def push(project):
    """Version and push whatever lies in the outputs."""
    project.call("dvc", "commit", "--force", "prepare", "extract")
    project.call("dvc", "push")


def test_nothing_closed_is_pushed_after_kills_at_many_moments(private):
    secrets = [path.read_bytes() for path in Path("mine").glob("*.png")] + [b"secret"]
    for job in jobs():
        job()  # what it imports is not counted
        last = killed_at(0, job)
        for moment in np.linspace(1, last, MOMENTS, dtype=int):
            killed_at(moment, job)
        job()
    assert any(holds(folder, secrets) for folder in Path().rglob(".unfinished-*"))
    push(private)
    assert len([*Path("remote").rglob("*.dir")]) == 2
    assert not holds("remote", secrets)
    private.run("--dry-run")
    assert not any(holds(folder, secrets) for folder in Path().rglob(".unfinished-*"))

    private.write_params(PARAMS)  # without the dataset and these features
    private.run("--dry-run")
    push(private)
    assert not holds("remote", secrets)
    assert holds("features", secrets)
    assert holds("data/prepared", secrets)
