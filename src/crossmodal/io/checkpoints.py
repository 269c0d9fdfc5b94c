"""Folders for unfinished work, outside the outputs that Snakemake deletes before a job."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crossmodal.io.files import digest
from crossmodal.io.locks import lock

FOLDER = Path(".checkpoints")


@contextmanager
def unfinished_work(output: Path, job: object) -> Iterator[Path]:
    """Yield the folder for the unfinished work of one job, removed when the job is done.

    What an interrupted job left is found again if the job is the same; otherwise the folder starts
    empty. A second process waits for the first.

    Args:
        output: What the job makes.
        job: Everything else that the result depends on, as JSON: options, and the SHA-256 of each
            input, since a storage gives copies new times.
    """
    # an absolute output would lead out of the folder, and its own files would be removed
    inside = FOLDER.joinpath(*(part for part in output.parts if part not in (output.anchor, "..")))
    home = inside.with_name(f"{inside.name}.work")  # not the folder of an output below this one
    folder = home / digest(job)
    home.parent.mkdir(parents=True, exist_ok=True)
    waiting = f"{output}: waiting for another process that makes it"
    # the job of a workflow that was killed may still be running: let it finish
    with lock(inside.with_name(f"{inside.name}.lock"), waiting):
        for stale in home.glob("*"):
            if stale != folder:
                _discard(stale)
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        _discard(folder)
        shutil.rmtree(home)


def _discard(folder: Path) -> None:
    """Remove a folder, no part of which is taken for unfinished work if this process is killed."""
    hidden = Path(tempfile.mkdtemp(dir=folder.parent))
    shutil.rmtree(folder.rename(hidden / folder.name).parent)
