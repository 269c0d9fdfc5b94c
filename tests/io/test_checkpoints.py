import contextlib
import threading
import time
from pathlib import Path

import pytest

from crossmodal.io.checkpoints import FOLDER, unfinished_work

OUTPUT = "features/toy/words.h5"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder that is the working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def interrupted(output, job):
    """Work that is stopped after a first result; which results were there before."""
    with contextlib.suppress(KeyboardInterrupt), unfinished_work(output, job) as folder:
        found = sorted(path.name for path in folder.iterdir())
        (folder / f"part{len(found)}").write_text("done")
        raise KeyboardInterrupt
    return found


def test_work_that_was_stopped_is_found_again(tmp_path):
    output = Path(OUTPUT)
    assert interrupted(output, {"dims": 3}) == []
    assert interrupted(output, {"dims": 3}) == ["part0"]
    assert interrupted(output, {"dims": 3}) == ["part0", "part1"]


def test_another_job_starts_empty_and_removes_what_is_stale(tmp_path):
    output = Path(OUTPUT)
    interrupted(output, {"dims": 3})
    assert interrupted(output, {"dims": 4}) == []
    assert interrupted(output, {"dims": 3}) == []


@pytest.mark.parametrize("next_job", [{"dims": 3}, {"dims": 4}])
def test_what_a_killed_removal_left_is_not_found_again(tmp_path, monkeypatch, next_job):
    output = Path(OUTPUT)
    interrupted(output, {"dims": 3})
    interrupted(output, {"dims": 3})

    def remove_half(folder):
        next(Path(folder).rglob("part0")).unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        patch.setattr("shutil.rmtree", remove_half)
        with unfinished_work(output, next_job):
            pass
    assert interrupted(output, {"dims": 3}) == []
    assert len(list((tmp_path / FOLDER / f"{output}.work").iterdir())) == 1


def test_finished_work_is_removed(tmp_path):
    output = Path(OUTPUT)
    interrupted(output, {})
    with unfinished_work(output, {}) as folder:
        assert (folder / "part0").exists()
    assert not folder.exists()
    assert interrupted(output, {}) == []


@pytest.mark.parametrize(
    "second",
    ["models/seed1", "models", "models/seed0.1/fold1", "models/seed0.2", "models/seed0.h5"],
)
def test_outputs_do_not_share_their_work(tmp_path, second):
    first, second = Path("models/seed0.1"), Path(second)
    interrupted(first, {})
    assert interrupted(second, {}) == []
    with unfinished_work(second, {}):
        pass
    assert interrupted(first, {}) == ["part0"]


def test_a_second_process_waits_for_the_first():
    output, order = Path(OUTPUT), []

    def work(name):
        with unfinished_work(output, {}):
            order.append(f"{name} starts")
            working.set()
            time.sleep(0.05)
            order.append(f"{name} ends")

    working = threading.Event()
    first = threading.Thread(target=work, args=["first"])
    first.start()
    working.wait()
    work("second")
    first.join()
    assert order == ["first starts", "first ends", "second starts", "second ends"]


@pytest.mark.parametrize("outside", ["absolute", "above"])
def test_an_output_elsewhere_is_never_touched(tmp_path, monkeypatch, outside):
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    home = tmp_path / "models" / "seed0"
    home.mkdir(parents=True)
    (home / "model.json").write_text("fitted")
    output = home if outside == "absolute" else Path("../models/seed0")
    with unfinished_work(output, {}) as folder:
        assert folder.resolve().is_relative_to(inner / FOLDER)
    assert (home / "model.json").read_text() == "fitted"
