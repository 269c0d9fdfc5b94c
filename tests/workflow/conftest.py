from pathlib import Path

import pytest
from filelock import FileLock

from tests.workflow.project import copied, new_project


@pytest.fixture(scope="session")
def changes():
    """Keys of params.yaml in which new projects differ from the small one."""
    return {}


@pytest.fixture(scope="session")
def finish():
    """Runs a new project to its end."""
    return lambda project: project.run()


@pytest.fixture(scope="session")
def shared(tmp_path_factory, worker_id):
    """Make a project once for all workers, by the first that asks; return a copy of it."""
    own = tmp_path_factory.mktemp("shared")
    everyones = own.parent if worker_id == "master" else own.parent.parent

    def share(name, make):
        record = everyones / f"{name}.txt"
        with FileLock(everyones / f"{name}.lock"):
            if not record.exists():
                record.write_text(str(make(own / name).folder))
        return copied(Path(record.read_text()), own / f"{name}-copy")

    return share


@pytest.fixture(scope="session")
def untouched(shared, changes):
    """A project in which nothing has run; not to be changed."""
    return shared("untouched", lambda folder: new_project(folder, **changes))


@pytest.fixture(scope="session")
def finished(shared, untouched, finish):
    """A project after an undisturbed run; not to be changed."""

    def make(folder):
        project = copied(untouched.folder, folder)
        finish(project)
        return project

    return shared("finished", make)


@pytest.fixture
def project(finished, tmp_path):
    """A copy of the finished project, times included."""
    return copied(finished.folder, tmp_path / "project")


@pytest.fixture
def fresh(untouched, tmp_path):
    """A project in which nothing has run."""
    return copied(untouched.folder, tmp_path / "fresh")
