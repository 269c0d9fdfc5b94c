"""A small project of its own, driven by the real command."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CODE = ("Snakefile", "rules", "src", "profiles", "envs", "dvc.yaml")

PARAMS = {
    "suite": "small",
    "suites": {"small": ["small"]},
    "seeds": 2,
    "tables": {"small": {"title": "Small", "experiments": ["cca", "sam"], "metrics": ["mAP"]}},
    "experiments": {
        name: {
            "label": name.upper(),
            "dataset": "scenes",
            "views": {"image": "fc7", "text": "bow"},
            "labels": "single",
            "method": name,
        }
        for name in ("cca", "sam")
    },
    "datasets": {
        "scenes": {
            "train": 540,
            "validation": 60,
            "test": 60,
            "image_size": 32,
            "spoken": 0,
            "seed": 0,
        }
    },
    "features": {
        "activations": {
            "backbone": "squeezenet1_1",
            "weights": "random",
            "crops": 1,
            "resize": "warp256",
            "tap": "post",
            "seed": 0,
        },
        "fc7": {"activations": "activations"},
        "bow": {"size": 200, "weighting": "counts", "unit": "item", "stop_words": True},
    },
    "methods": {
        "cca": {"dims": 10, "ridge": 0.1, "power": 0.0},
        "sam": {
            "dims": 16,
            "hidden": 32,
            "dropout": 0.1,
            "margin": 1.0,
            "feature_share": 0.25,
            "activation": 0.4,
            "slope": 0.1,
            "input_norm": "zscore",
            "learning_rate": 0.005,
            "momentum": 0.9,
            "decay": 0.000001,
            "batch": 100,
            "epochs": 60,
        },
    },
}


class Project:
    """A folder with the workflow's code and parameters of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def params(self) -> dict:
        return yaml.safe_load((self.folder / "params.yaml").read_text())

    def write_params(self, params: dict) -> None:
        (self.folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))

    def start(self, *arguments: str) -> subprocess.Popen:
        """Start snakemake in a process group of its own."""
        bin_folder = Path(sys.executable).parent
        environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
        environment.pop("PYTHONPATH", None)
        return subprocess.Popen(
            [bin_folder / "snakemake", "--cores", "2", *arguments],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, timeout: int = 300) -> str:
        """What snakemake prints; it must succeed in `timeout` seconds."""
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=timeout)
        assert process.returncode == 0, output
        return output

    def jobs(self) -> dict[str, int]:
        """Number of jobs of each rule that would run now."""
        lines = [*self.run("--dry-run", "--quiet", "rules").splitlines(), ""]
        if not any(line.startswith("job ") for line in lines):
            return {}
        start = next(i for i, line in enumerate(lines) if line.startswith("job ")) + 2
        rows = [line.split() for line in lines[start : lines.index("", start)]]
        return {row[0]: int(row[1]) for row in rows if row[0] not in ("all", "total")}

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()


def new_project(folder: Path) -> Project:
    for name in CODE:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    project = Project(folder)
    project.write_params(PARAMS)
    return project


@pytest.fixture(scope="session")
def make_project():
    """`make_project(folder)` copies the workflow's code into an empty folder."""
    return new_project


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A project after an undisturbed run; not to be changed."""
    project = new_project(tmp_path_factory.mktemp("finished"))
    project.run()
    return project


@pytest.fixture
def project(finished, tmp_path):
    """A copy of the finished project, times included."""
    shutil.copytree(finished.folder, tmp_path / "project", copy_function=shutil.copy2)
    return Project(tmp_path / "project")


@pytest.fixture
def fresh(tmp_path):
    """A project in which nothing has run."""
    (tmp_path / "fresh").mkdir()
    return new_project(tmp_path / "fresh")
