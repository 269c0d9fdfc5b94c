from pathlib import Path

import pytest

from tests.workflow.project import new_project

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    """`make test-workflow` runs what is here."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("long")


@pytest.fixture(scope="session")
def changes():
    """One seed, since whole workflows take long."""
    return {"seeds": 1}


@pytest.fixture(scope="session")
def finished(tmp_path_factory, changes):
    """A project after an undisturbed `dvc repro`, recorded in git; not to be changed."""
    project = new_project(tmp_path_factory.mktemp("finished"), **changes)
    project.call("dvc", "repro")
    project.record()
    return project
