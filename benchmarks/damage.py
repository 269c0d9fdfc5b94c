"""Damage to files that the workflow keeps: a flipped bit, emptied records."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

from benchmarks.faults_in_jobs import Jobbed, finish, start
from benchmarks.faults_in_workflows import Workflow, untimed
from crossmodal.io.files import find
from crossmodal.workflow.records import STORE
from tests.workflow.project import SNAKEMAKE

ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT  # asks, and leaves the process to `finish`
RESULTS = ("results/metrics.json", "results/tables/all.md")
DRAWN = (*RESULTS, "results/figures", "results/tables/small.*")
MEASURED = ("results/curves", *DRAWN)
FITTED = ("models", "embeddings", "results")
# files that jobs read -> what is made of them
KINDS = {
    "data/prepared/*/items.csv": ("features", *FITTED),
    "data/prepared/*/captions.csv": ("features", *FITTED),
    "data/prepared/*/splits.csv": ("features", *FITTED),
    "data/prepared/*/media.zip": ("features", *FITTED),
    "features/*/activations.h5": ("features/*/fc7.h5", *FITTED),
    "features/*/fc7.h5": FITTED,
    "features/*/bow.h5": FITTED,
    "models/*/*/model.safetensors": ("embeddings", "results"),
    "models/*/*/model.json": ("embeddings", "results"),
    "models/*/*/curve.csv": ("embeddings", "results"),
    "embeddings/*/*.h5": ("results",),
    "results/runs/*/*.json": MEASURED,
    "results/curves/*/*.csv": DRAWN,
    "results/tables/small.*": RESULTS,
}


def flip(path: Path) -> None:
    """Flip one bit of a file, with its old or a new time."""
    status, content = path.stat(), bytearray(path.read_bytes())
    content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    path.write_bytes(content)
    if random.random() < 0.5:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def flip_unfinished(jobs: Jobbed, step: str) -> str | None:
    """SIGKILL soon after the first unfinished work was kept, and a bit flipped in a file of it."""
    name = jobs.draw(step)
    pid = start(jobs.folder, jobs.commands[name])
    while not _unfinished(jobs) and not os.waitid(os.P_PID, pid, ENDED):
        time.sleep(0.01)
    time.sleep(random.uniform(0, 0.3))
    os.kill(pid, signal.SIGKILL)
    finish(pid)
    if not (files := _unfinished(jobs)):
        return None  # the job was faster
    flip(random.choice(files))
    return jobs.differs(name)


def _unfinished(jobs: Jobbed) -> list[Path]:
    """Files of unfinished work that hold something."""
    paths = [p for p in find(jobs.folder / ".checkpoints", "*") if not p.name.endswith("lock")]
    return [path for path in paths if path.is_file() and path.stat().st_size]


def flip_output(workflow: Workflow) -> str:
    """A bit flipped in a file that jobs read, each kind in turn, with its old or a new time; what
    was made of it is deleted. The next run names the file, and makes it again when it is deleted.
    """
    project = workflow.copy()
    kind = [*KINDS][(workflow.calls - 2) % len(KINDS)]  # the first call makes the undisturbed run
    path = random.choice(sorted(project.folder.glob(kind)))
    flip(path)
    for later in (later for pattern in KINDS[kind] for later in project.folder.glob(pattern)):
        shutil.rmtree(later) if later.is_dir() else later.unlink()
    process = project.start(*SNAKEMAKE)
    said, _ = process.communicate()
    if process.returncode:
        name = str(path.relative_to(project.folder))
        if name not in said or "Traceback" in said:
            return f"{name} was flipped, but: {said}"
        path.unlink()
    return workflow.differs(project)


def empty_records(workflow: Workflow) -> str:
    """Snakemake's records emptied, cut or zeroed, as power cuts leave them; then an option changes,
    and back.
    """
    project = workflow.copy()
    for path in (p for p in (project.folder / STORE).rglob("*") if p.is_file()):
        size = path.stat().st_size
        os.truncate(path, random.choice([0, size // 2]))
        os.truncate(path, random.choice([0, path.stat().st_size, size]))
    params = project.params()
    before = untimed(project)
    params["methods"]["sam"]["margin"] /= 2
    project.write_params(params)
    if "train" not in (due := project.jobs()):
        return f"an option changed, but only {due} would run"
    params["methods"]["sam"]["margin"] *= 2
    project.write_params(params)
    if due := project.jobs():
        return f"nothing changed, but {due} would run"
    return "" if untimed(project) == before else "a dry run changed an output"


# name -> function, step, how often
IN_JOBS = {f"flipped_{step}": (flip_unfinished, step, 10) for step in ("extract", "train")}
# name -> function, how often
IN_WORKFLOWS = {"flipped_output": (flip_output, 20), "emptied_records": (empty_records, 5)}
