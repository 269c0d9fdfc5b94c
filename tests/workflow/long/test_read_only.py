"""A checkout that may not be written, somebody else's for example, on a read-only disk."""

import shutil
import subprocess

import pytest

from tests.workflow.project import ROOT

MOUNT = 'mount --bind "$PWD" "$PWD" && mount -o remount,ro,bind "$PWD" && cd "$PWD" && exec "$@"'
UNSHARE = ("unshare", "--mount", "sh", "-c", MOUNT, "sh")
CROSSMODAL = ("env", f"PYTHONPATH={ROOT / 'src'}", "python", "-m", "crossmodal")
MODEL = "models/sam/seed0"
LOAD = f"import crossmodal; print(crossmodal.load('{MODEL}').modalities)"
READING = [
    (*CROSSMODAL, "check"),
    (*CROSSMODAL, "check", "scenes"),
    (*CROSSMODAL, "plan"),
    (*CROSSMODAL, "describe", "sam"),
    *((*CROSSMODAL, listing) for listing in ("methods", "features", "datasets", "tables")),
    (*CROSSMODAL, "words", MODEL),
    (*CROSSMODAL, "why", "results/tables/all.md"),
    (*CROSSMODAL[:-2], "-c", LOAD),
    (*CROSSMODAL, "search", MODEL, "--text", "meadow"),
]


def mounts() -> bool:
    """Return whether this user may mount."""
    unshare = shutil.which("unshare")
    return bool(unshare) and not subprocess.run([unshare, "--mount", "true"]).returncode


pytestmark = pytest.mark.skipif(not mounts(), reason="needs the right to mount")


@pytest.mark.parametrize("command", READING, ids=lambda command: " ".join(command[3:6]))
def test_commands_that_read_need_no_right_to_write(finished, command):
    assert finished.call(*UNSHARE, *command)


def test_snakemake_names_the_read_only_folder_in_one_line(finished):
    lines = finished.call(*UNSHARE, "snakemake", "--dry-run", fails=True).splitlines()
    assert "Read-only file system" in lines[-1]
    assert lines[-1].endswith("make it writable and run the same command again")
    assert "Traceback" not in " ".join(lines)
