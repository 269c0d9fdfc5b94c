"""Jobs in a container, with a stand-in for Apptainer that only notes what it is asked to run."""

import sys
from pathlib import Path

import pytest

APPTAINER = """#!/bin/sh
if [ "$1" = --version ]; then echo "apptainer version 1.4.0"; exit; fi
while [ "$1" != crossmodal.sif ]; do shift; done
echo "$@" >>containers.log
shift
exec "$@"
"""
PREPARED = "data/prepared/scenes/items.csv"


@pytest.fixture
def project(fresh, tmp_path, monkeypatch):
    """A project, on a machine with the stand-in."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "apptainer").write_text(APPTAINER)
    (programs / "apptainer").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    assert not (Path(sys.executable).parent / "apptainer").exists()  # it would come first
    return fresh


def test_jobs_run_in_the_image_only_where_asked(project):
    output = project.run(PREPARED, "--sdm", "apptainer")
    assert "rule prepare:" in output
    assert "python -m crossmodal prepare" in project.read("containers.log")
    assert "Nothing to be done" in project.run(PREPARED, "--sdm", "apptainer")
    (project.folder / "containers.log").unlink()
    project.run(PREPARED)  # another environment: it is due again
    assert not (project.folder / "containers.log").exists()
