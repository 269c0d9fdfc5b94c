import shutil

import pytest

from tests.workflow.project import Project, new_project


@pytest.fixture(scope="session")
def changes():
    """Keys of params.yaml in which new projects differ from the small one."""
    return {}


@pytest.fixture(scope="session")
def finished(tmp_path_factory, changes):
    """A project after an undisturbed run; not to be changed."""
    project = new_project(tmp_path_factory.mktemp("finished"), **changes)
    project.run()
    return project


@pytest.fixture
def project(finished, tmp_path):
    """A copy of the finished project, times included."""
    shutil.copytree(finished.folder, tmp_path / "project", copy_function=shutil.copy2)
    return Project(tmp_path / "project")


@pytest.fixture
def fresh(tmp_path, changes):
    """A project in which nothing has run."""
    return new_project(tmp_path / "fresh", **changes)
