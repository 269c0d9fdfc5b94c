"""Faults in workflows: Snakemake with all its jobs, and DVC."""

import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from benchmarks.faults_in_jobs import TINY, contents, difference
from crossmodal.models.embedding_file import read_embeddings
from crossmodal.workflow.records import OUTPUTS
from tests.workflow.project import SNAKEMAKE, Project, metrics, new_project

KILLS = 4
PULL = ("env", "PYTHONPATH=src", "python", "-m", "crossmodal", "pull")


class Workflow:
    """The workflow under Snakemake.

    Args:
        folder: Gets the undisturbed run, and the disturbed ones.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.calls = folder, 0
        self.reference = self.fresh()
        self.reference.run()
        self.expected = untimed(self.reference)

    def fresh(self) -> Project:
        """A project in which nothing has run."""
        self.calls += 1
        project = new_project(self.folder / f"project{self.calls}")
        project.write_params(TINY)
        return project

    def copy(self) -> Project:
        """A copy of the undisturbed run."""
        self.calls += 1
        target = self.folder / f"project{self.calls}"
        shutil.copytree(self.reference.folder, target, copy_function=shutil.copy2)
        return Project(target)

    def differs(self, project: Project) -> str:
        """The first path that is not as undisturbed, and what would run again."""
        project.run()
        due = project.jobs()
        found = difference(self.expected, untimed(project))
        return found or (f"{due} would run again" if due else "")


def untimed(project: Project) -> dict[str, str]:
    """Digest of each output; of embeddings and metrics, which name the seconds of the fit, of what
    else they hold.
    """
    found = contents(project.folder) | {name: str(run) for name, run in metrics(project).items()}
    for name in (name for name in found if name.startswith("embeddings/")):
        embedded = read_embeddings(project.folder / name)
        pools = (pool for split in embedded.splits.values() for pool in split.values())
        arrays = (array.tobytes() for pool in pools for array in (pool.embeddings, pool.items))
        found[name] = hashlib.sha256(b"".join(arrays)).hexdigest()
    return found


def kill_all(workflow: Workflow) -> str | None:
    """SIGKILL to Snakemake and all its jobs at four random moments, one after the other."""
    project, killed = workflow.fresh(), 0
    for _ in range(KILLS):
        process = project.start(*SNAKEMAKE)
        try:
            process.communicate(timeout=random.uniform(1, 12))
            break
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            killed += 1
    failed = workflow.differs(project)
    return failed or ("" if killed == KILLS else None)


def start_twice(workflow: Workflow) -> str:
    """Snakemake twice at once in one folder, of which one says that it is locked."""
    project = workflow.fresh()
    both = [project.start(*SNAKEMAKE) for _ in range(2)]
    said = [process.communicate()[0] for process in both]
    if sorted(process.returncode for process in both) != [0, 1] or "LockException" not in str(said):
        return f"not one of both ran: {said}"
    return workflow.differs(project)


def set_back(workflow: Workflow) -> str:
    """The clock goes back by an hour between extraction and training."""
    project = workflow.copy()
    future = time.time() + 3600
    for kind in ("data", "features"):
        for path in (project.folder / kind).rglob("*.*"):
            os.utime(path, (future, future))
    for kind in ("models", "embeddings", "results"):
        shutil.rmtree(project.folder / kind)
    return workflow.differs(project)


def break_remote(workflow: Workflow) -> str:
    """A remote that is no folder, then one in which a file is cut; each is mended afterwards."""
    project = workflow.copy()
    project.record()
    project.call("dvc", "repro")
    remote = project.folder.with_suffix(".remote")
    remote.write_text("no folder")
    project.call("dvc", "remote", "add", "--default", "team", str(remote))
    project.call("dvc", "push", fails=True)
    remote.unlink()
    project.call("dvc", "push")
    stored = max((p for p in remote.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    whole = stored.read_bytes()
    stored.chmod(0o644)
    stored.write_bytes(whole[:-1])
    for folder in (".dvc/cache", *OUTPUTS):
        shutil.rmtree(project.folder / folder)
    refused = project.call(*PULL, fails=True)
    stored.write_bytes(whole)
    for name in re.findall(r"(\S+) \(files/md5", refused):
        (project.folder / name).unlink()
    project.call(*PULL)
    return workflow.differs(project)


def delete_cache(workflow: Workflow) -> str:
    """DVC's cache is deleted while the workflow runs."""
    project = workflow.copy()
    project.record()
    project.call("dvc", "repro")
    shutil.rmtree(project.folder / "results")
    process = project.start("dvc", "repro")
    time.sleep(random.uniform(1, 20))
    shutil.rmtree(project.folder / ".dvc/cache", ignore_errors=True)  # DVC writes into it
    process.communicate()
    project.call("dvc", "repro")
    return workflow.differs(project)


# name -> function, how often
FAULTS = {"kill_workflow": (kill_all, 5), "twice_workflow": (start_twice, 2)}
FAULTS |= {"clock_back": (set_back, 2), "broken_remote": (break_remote, 2)}
FAULTS |= {"cache_deleted": (delete_cache, 2)}
