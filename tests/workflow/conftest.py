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
def finished(tmp_path_factory, worker_id, changes, finish):
    """A project after an undisturbed run, made by the first worker; not to be changed."""
    own = tmp_path_factory.mktemp("finished")
    everyones = own.parent if worker_id == "master" else own.parent.parent
    record = everyones / "finished.txt"
    with FileLock(everyones / "finished.lock"):
        if not record.exists():
            project = new_project(own / "made", **changes)
            finish(project)
            record.write_text(str(project.folder))
    return copied(Path(record.read_text()), own / "copy")


@pytest.fixture
def project(finished, tmp_path):
    """A copy of the finished project, times included."""
    return copied(finished.folder, tmp_path / "project")


@pytest.fixture
def fresh(tmp_path, changes):
    """A project in which nothing has run."""
    return new_project(tmp_path / "fresh", **changes)
