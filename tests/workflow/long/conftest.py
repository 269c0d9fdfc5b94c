from pathlib import Path

import pytest

from tests.workflow.project import new_project

ONE_SEED = {"seeds": 1}
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    """`make test-workflow` runs what is here."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("long")


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A project after an undisturbed `dvc repro`, recorded in git; not to be changed."""
    project = new_project(tmp_path_factory.mktemp("finished"), **ONE_SEED)
    project.call("dvc", "repro")
    project.record()
    return project


@pytest.fixture
def fresh(tmp_path):
    """A project in which nothing has run."""
    return new_project(tmp_path / "fresh", **ONE_SEED)
