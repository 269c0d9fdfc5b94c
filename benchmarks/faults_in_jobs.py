"""Faults in single jobs, forked from a process that has imported the libraries already."""

import ctypes
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import torch  # noqa: F401 - so that no job imports it

from crossmodal import cli
from crossmodal.config import params
from crossmodal.data.feature import Feature
from crossmodal.io.files import read_json, remove_unfinished, sha256
from crossmodal.workflow.jobs import Jobs
from crossmodal.workflow.records import CARRIER, OUTPUTS
from tests.workflow.project import PARAMS, TIMINGS

STEPS = ("extract", "train", "embed", "evaluate")
TINY = PARAMS | {
    "seeds": 1,
    "tables": {"small": PARAMS["tables"]["small"] | {"experiments": ["sam"]}},
    "experiments": {"sam": PARAMS["experiments"]["sam"]},
    "datasets": {
        "scenes": PARAMS["datasets"]["scenes"] | {"train": 40, "validation": 10, "test": 10}
    },
    "methods": {"sam": PARAMS["methods"]["sam"] | {"batch": 20, "epochs": 60}},
}
MOUNT = ctypes.CDLL(None, use_errno=True)
READ_ONLY, REMOUNT, DETACH = 1, 32, 2
PATIENCE = 300  # seconds


def commands() -> dict[str, list[str]]:
    """Arguments of the jobs, in order; the names of extractions say what they extract."""
    jobs = Jobs(params.parse(TINY))
    sam = SimpleNamespace(experiment="sam", dataset="scenes")
    data = ["--dataset", "data/prepared/scenes"]
    inputs = [*data, "--features", "features/scenes"]
    weights = ["--weights", "data/raw/weights"]
    model, embeddings = "models/sam/seed0/model.safetensors", "embeddings/sam/seed0.h5"
    prepare = ["prepare", jobs.prepare(sam), "data/prepared/scenes", "--raw", "data/raw/scenes"]
    extract = {
        f"extract {name}": [
            *("extract", jobs.extract(SimpleNamespace(dataset="scenes", feature=name))),
            *(f"features/scenes/{name}.h5", *inputs, *weights),
        ]
        for name in ("bow", "activations", "fc7")
    }
    return {
        "prepare": prepare,
        **extract,
        "train": ["train", jobs.train(sam), model, *inputs, *weights, "--seed", "0"],
        "embed": ["embed", jobs.embed(sam), embeddings, *inputs, "--model", model],
        "evaluate": [
            *("evaluate_run", jobs.evaluate(sam), "results/runs/sam/seed0.json"),
            *("--embeddings", embeddings, "--seed", "0"),
        ],
    }


def start(folder: Path, arguments: list[str], before: Callable[[], None] = lambda: None) -> int:
    """Process id of a job; `before` is called in it."""
    if pid := os.fork():
        return pid
    code = 1
    try:
        os.chdir(folder)
        log = open("../log", "a", buffering=1)  # noqa: SIM115 - until the process ends
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        sys.stdout = sys.stderr = log  # a test runner has others in their places
        sys.argv = ["crossmodal", *arguments]
        before()
        cli.main()
    except SystemExit as error:
        code = error.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def finish(pid: int) -> int:
    """Exit code of a job; negative, the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Jobbed:
    """The workflow as single jobs, each of which can be disturbed.

    Args:
        folder: Gets the undisturbed run, and the disturbed one.
    """

    def __init__(self, folder: Path) -> None:
        self.reference, self.folder = folder / "reference", folder / "disturbed"
        self.commands, self.seconds = commands(), {}
        self.reference.mkdir(exist_ok=True)
        Feature.chunk = 20  # several in each extraction
        for name, arguments in self.commands.items():
            begin = time.monotonic()
            if finish(start(self.reference, arguments)):
                raise SystemExit(self.said())
            self.seconds[name] = time.monotonic() - begin
        self.expected = contents(self.reference)

    def said(self) -> str:
        """What the jobs since the last draw printed."""
        return (self.folder.parent / "log").read_text()

    def draw(self, step: str) -> str:
        """A job of a step; the folder is as it was before that job."""
        (self.folder.parent / "log").unlink(missing_ok=True)
        name = random.choice([name for name in self.commands if name.startswith(step)])
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.reference, self.folder, copy_function=shutil.copy2)
        output = self.folder / self.commands[name][2]
        for path in output.parent.iterdir() if step == "train" else [output]:
            path.unlink()
        return name

    def differs(self, name: str) -> str:
        """The first path that is not as after an undisturbed run, when the job has run again."""
        for folder in OUTPUTS:
            remove_unfinished(self.folder / folder)
        if finish(start(self.folder, self.commands[name])):
            return f"{name} fails again: {self.said()}"
        return difference(self.expected, contents(self.folder))


def contents(folder: Path) -> dict[str, str]:
    """Digest of each output, times left out."""
    found = {}
    for path in sorted(p for kind in OUTPUTS for p in (folder / kind).rglob("*") if p.is_file()):
        name = str(path.relative_to(folder))
        if path.name == "model.json":
            model = read_json(path)
            fit = {key: value for key, value in model["fit"].items() if key not in TIMINGS}
            found[name] = json.dumps(model | {"fit": fit}, sort_keys=True)
        elif path.name != CARRIER and path.suffix != ".tsv":  # with times
            found[name] = sha256(path)
    return found


def difference(expected: dict[str, str], found: dict[str, str]) -> str:
    """The first path that is other or absent in one of both, or nothing."""
    paths = sorted(expected.keys() | found.keys())
    return next((path for path in paths if expected.get(path) != found.get(path)), "")


def kill(jobs: Jobbed, step: str) -> str | None:
    """SIGKILL at a random moment."""
    name = jobs.draw(step)
    pid = start(jobs.folder, jobs.commands[name])
    time.sleep(random.uniform(0, jobs.seconds[name]))
    os.kill(pid, signal.SIGKILL)
    # nothing was struck if the job was faster
    return jobs.differs(name) if finish(pid) == -signal.SIGKILL else None


def fill(jobs: Jobbed, step: str) -> str | None:
    """A disk that is full from the beginning, or after some thousand bytes."""
    name = jobs.draw(step)
    with mounted(jobs.folder, "size=9m"):
        free = os.statvfs(jobs.folder)
        room = random.choice([0, 4096, 20_000])
        (jobs.folder / "filler").write_bytes(b"0" * (free.f_bavail * free.f_frsize - room))
        code = finish(start(jobs.folder, jobs.commands[name]))
        (jobs.folder / "filler").unlink()
        if code == 0:
            return None
        if "free some space" not in jobs.said():
            return f"{name} does not say that the disk is full: {jobs.said()}"
        return jobs.differs(name)


def forbid(jobs: Jobbed, step: str) -> str | None:
    """Outputs on a disk that may not be written to."""
    name = jobs.draw(step)
    with mounted(jobs.folder, "size=64m"):
        _mount(b"none", jobs.folder, REMOUNT | READ_ONLY, b"size=64m")
        code = finish(start(jobs.folder, jobs.commands[name]))
        _mount(b"none", jobs.folder, REMOUNT, b"size=64m")
        if code == 0 or "make it writable" not in jobs.said():
            return f"{name} does not say what is read-only: {jobs.said()}"
        return jobs.differs(name)


def starve(jobs: Jobbed, step: str) -> str | None:
    """Too little memory, by a random amount."""
    name = jobs.draw(step)
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = in_use + int(2 ** random.uniform(20, 28))  # 1 to 256 MB

    def lack() -> None:
        signal.alarm(PATIENCE)  # a library may wait for a thread that it could not start
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    return jobs.differs(name) if finish(start(jobs.folder, jobs.commands[name], lack)) else None


def twice(jobs: Jobbed, step: str) -> str:
    """The same job in two processes at once."""
    name = jobs.draw(step)
    pids = [start(jobs.folder, jobs.commands[name]) for _ in range(2)]
    codes = [finish(pid) for pid in pids]
    return f"{name}: {codes}" if any(codes) else jobs.differs(name)


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """A disk in memory, with the folder's content, in place of the folder."""
    kept = folder.with_name("kept")
    folder.rename(kept)
    folder.mkdir()
    try:
        _mount(b"tmpfs", folder, 0, options.encode())
        shutil.copytree(kept, folder, copy_function=shutil.copy2, dirs_exist_ok=True)
        yield
    finally:
        MOUNT.umount2(bytes(folder), DETACH)
        folder.rmdir()
        kept.rename(folder)


def _mount(kind: bytes, folder: Path, flags: int, options: bytes) -> None:
    if MOUNT.mount(b"none", bytes(folder), kind, flags, options):
        raise PermissionError(os.strerror(ctypes.get_errno()))


JOBS = {"kill": (kill, 45), "full_disk": (fill, 5), "read_only": (forbid, 5)}
JOBS |= {"no_memory": (starve, 10), "twice": (twice, 5)}
# name -> function, step, how often
FAULTS = {f"{n}_{s}": (function, s, times) for n, (function, times) in JOBS.items() for s in STEPS}
