"""A small project of its own, driven by the real commands."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from crossmodal.config.overlays import read_files

ROOT = Path(__file__).parents[2]
PHASES = ("acquired", "prepared", "extracted", "trained", "evaluated", "all")
RULE = re.compile(r"^(?:local)?rule (\w+):$", re.MULTILINE)
CODE = ("Snakefile", "rules", "src", "profiles", "envs", "plugins")
CODE += ("dvc.yaml", ".gitignore", ".dvc")
EXPERIMENTS = ("tables", "figures", "experiments")
NOT_CODE = shutil.ignore_patterns("cache", "tmp", "config.local", "*.pyc.*")  # half compiled

PARAMS = {
    "suite": "small",
    "suites": {"small": ["small"]},
    "seeds": 2,
    "deterministic": True,
    "tables": {"small": {"title": "Small", "experiments": ["cca", "sam"], "metrics": ["mAP"]}},
    "figures": {},
    "experiments": {
        name: {
            "label": name.upper(),
            "dataset": "scenes",
            "views": {"image": "fc7", "text": "bow"},
            "relevance": "category",
            "method": name,
        }
        for name in ("cca", "sam")
    },
    "datasets": {
        "scenes": {
            "train": 220,  # with the others two chunks of an extraction
            "validation": 40,
            "test": 40,
            "image_size": 32,
            "voices": 2,
            "spoken": 0,
            "seed": 0,
        }
    },
    "features": {
        "activations": {
            "backbone": "squeezenet1_1",
            "weights": "random",
            "crops": 1,
            "resize": "warp",
            "layers": "all",
            "seed": 0,
        },
        "fc7": {"activations": "activations", "normalise": True},
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
            "schedule": "sigmoid",
            "scaling": "zscore",
            "learning_rate": 0.005,
            "momentum": 0.9,
            "decay": 0.000001,
            "batch": 100,
            "epochs": 20,
        },
    },
}


class PlainDumper(yaml.SafeDumper):
    """Writes no anchors, which params.yaml may not have."""

    def ignore_aliases(self, data: object) -> bool:
        return True


class Project:
    """A folder with the workflow's code and parameters of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def params(self) -> dict:
        return read_files([self.folder / "params.yaml"])

    def write_params(self, params: dict) -> None:
        """Write all sections, each into the file where the project has it."""
        (self.folder / "experiments").mkdir(exist_ok=True)
        own = {key: value for key, value in params.items() if key not in EXPERIMENTS}
        shown = {key: value for key, value in params.items() if key in EXPERIMENTS}
        for name, content in (("params.yaml", own), ("experiments/all.yaml", shown)):
            text = yaml.dump(content, Dumper=PlainDumper, sort_keys=False)
            (self.folder / name).write_text(text)

    def start(self, *command: str) -> subprocess.Popen:
        """Start a command in a process group of its own."""
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "DVC_GLOBAL_CONFIG_DIR": str(self.folder / ".dvc/tmp/global"),
            "DVC_SYSTEM_CONFIG_DIR": str(self.folder / ".dvc/tmp/system"),
            **{f"GIT_{who}_NAME": "A" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "a@example.org" for who in ("AUTHOR", "COMMITTER")},
        }
        environment.pop("PYTHONPATH", None)
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def call(self, *command: str, fails: bool = False, timeout: float = 1200) -> str:
        """What a command prints; it must succeed, or fail."""
        process = self.start(*command)
        output, _ = process.communicate(timeout=timeout)
        assert (process.returncode != 0) == fails, output
        return output

    def run(self, *arguments: str, fails: bool = False) -> str:
        """What snakemake prints."""
        return self.call(*SNAKEMAKE, *arguments, fails=fails)

    def record(self) -> None:
        """Commit everything to git."""
        self.call("git", "add", "--all")
        self.call("git", "commit", "--quiet", "--message", "Record", "--allow-empty")

    def jobs(self) -> dict[str, int]:
        """Number of jobs of each rule that would run now."""
        lines = [*self.run("--dry-run", "--quiet", "rules").splitlines(), ""]
        if not any(line.startswith("job ") for line in lines):
            return {}
        start = next(i for i, line in enumerate(lines) if line.startswith("job ")) + 2
        rows = [line.split() for line in lines[start : lines.index("", start)]]
        return {row[0]: int(row[1]) for row in rows if row[0] not in (*PHASES, "total")}

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()


def jobs_run(output: str) -> Counter:
    """Number of jobs of each rule that snakemake said to start; phases are no jobs."""
    return Counter(rule for rule in RULE.findall(output) if rule not in PHASES)


SNAKEMAKE = ("snakemake", "--cores", "2")
TIMINGS = ("fit_seconds", "peak_memory_mb", "peak_gpu_memory_mb")


def jobs_of(methods: int, runs: int) -> dict[str, int]:
    """Number of jobs of each rule for so many methods, and so many runs in all."""
    each = dict.fromkeys(("train", "embed", "evaluate"), runs)
    return {**each, "average_curves": methods, "draw": 2, "tabulate": 1, "merge": 1}


ONE_RUN = jobs_of(methods=1, runs=1)
FIT = {"train": 1, "embed": 1}  # of these, those of DVC's stage `train`
REST = {rule: count for rule, count in ONE_RUN.items() if rule not in FIT}


def new_project(folder: Path, **changes: Any) -> Project:
    """A project in which nothing has run.

    Args:
        folder: Where it is made.
        changes: Keys of params.yaml that differ from `PARAMS`.
    """
    folder.mkdir(exist_ok=True)
    for name in CODE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=NOT_CODE)
        else:
            shutil.copy(ROOT / name, folder / name)
    project = Project(folder)
    project.write_params(PARAMS | changes)
    project.call("git", "init", "--quiet")
    project.run("--dry-run")  # writes .dvcignore
    project.record()
    return project


def copied(project: Path, folder: Path) -> Project:
    """A copy of a project, times included."""
    shutil.copytree(project, folder)
    return Project(folder)


def metrics(project: Project) -> dict:
    """All numbers of all runs, but how long they took, and digests of files that say so."""
    found = {}
    for path in sorted((project.folder / "results" / "runs").rglob("seed*.json")):
        content = json.loads(path.read_text())
        for name in TIMINGS:
            content["model"].pop(name)
        content.pop("made")
        found[str(path.relative_to(project.folder))] = content
    return found


def _holds(arrived: Callable[[Path], bool], folder: Path) -> bool:
    try:
        return arrived(folder)
    except FileNotFoundError:  # a folder that was listed has gone
        return False


def kill_when(project: Project, arrived: Callable[[Path], bool], *command: str) -> None:
    """Start a command, and kill it with all its jobs when something has arrived."""
    process = project.start(*command)
    deadline = time.monotonic() + 600
    while not _holds(arrived, project.folder):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "nothing arrived"
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
