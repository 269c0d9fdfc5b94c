"""Commits by the code that they train with."""

import functools
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

SEARCHED = 100  # commits, the newest first
HASHES = """
import json
from crossmodal.config import plugins
from crossmodal.workflow.code_hash import code
names = plugins.names("methods")
print(json.dumps({n: code("crossmodal.steps.train", f"crossmodal.methods.{n}") for n in names}))
"""


@functools.cache
def commit_of(code: str, method: str) -> str:
    """Return the newest commit that trains a method with code of this hash; empty without one.

    Args:
        code: Hash, as runs name it.
        method: Name of the method.
    """
    commits = _git("rev-list", f"--max-count={SEARCHED}", "HEAD").split()
    return next((c for c in commits if _hashes(c).get(method) == code), "")


@functools.cache
def _hashes(commit: str) -> dict[str, str]:
    """Hash of the training code of each method at a commit, by the commit's own rule."""
    with TemporaryDirectory() as temporary:
        archive = Path(temporary) / "src.tar"
        _git("archive", f"--output={archive}", commit, "src")
        subprocess.run(["tar", "-xf", archive, "-C", temporary], check=True)
        result = subprocess.run(
            [sys.executable, "-c", HASHES],
            env={"PYTHONPATH": f"{temporary}/src"},
            capture_output=True,
            text=True,
        )
        return json.loads(result.stdout) if not result.returncode else {}


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout
