import errno
import fcntl
import multiprocessing
import os
import signal
import threading

import pytest

from crossmodal.io.files import remove_unfinished, replacing, write_text
from crossmodal.io.locks import MISSING, lock


def refuse(code):
    def flock(*_):
        raise OSError(code, os.strerror(code))

    return flock


@pytest.fixture(params=[None, *MISSING], ids=lambda code: errno.errorcode.get(code, "flock"))
def system(request, monkeypatch):
    """A file system with locks, then those without."""
    if request.param:
        monkeypatch.setattr(fcntl, "flock", refuse(request.param))


def hold(path, reached):
    with lock(path, None):
        reached.set()
        signal.pause()


@pytest.fixture
def held(system, tmp_path):
    """A lock that another process holds, and that process."""
    context = multiprocessing.get_context("fork")
    reached = context.Event()
    process = context.Process(target=hold, args=(tmp_path / "lock", reached))
    process.start()
    assert reached.wait(20)
    yield tmp_path / "lock", process
    end(process)


def test_a_lock_is_held_by_one_process(held):
    with pytest.raises(BlockingIOError), lock(held[0], None):
        pass


def test_a_lock_ends_with_a_killed_process(held):
    end(held[1])
    with lock(held[0], None):
        pass


def test_a_lock_is_waited_for_with_a_message(held, capsys):
    threading.Timer(1.5, end, args=(held[1],)).start()
    with lock(held[0], "waiting for another"):
        assert capsys.readouterr().err.startswith("waiting for another")


def end(process):
    process.kill()
    process.join()


def test_a_lock_is_free_after_its_block(system, tmp_path):
    for _ in range(2):
        with lock(tmp_path / "lock", None):
            pass


@pytest.mark.parametrize("code", [errno.EBADF, errno.EIO])
def test_other_failures_of_a_lock_are_errors(tmp_path, monkeypatch, code):
    monkeypatch.setattr(fcntl, "flock", refuse(code))
    with pytest.raises(OSError, match=os.strerror(code)), lock(tmp_path / "lock", None):
        pass


def test_unfinished_files_stay_where_no_lock_can_tell(system, tmp_path):
    with replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("half")
        remove_unfinished(tmp_path)
        assert temporary.read_text() == "half"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_files_are_written_without_locks(system, tmp_path):
    write_text(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").read_text() == "new"
