from pathlib import Path

import pytest

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
def finish():
    """Runs a new project to its end by `dvc repro`, and records it in git."""

    def repro(project):
        project.call("dvc", "repro")
        project.record()

    return repro
