import contextlib
import threading
import time
from pathlib import Path

import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.io.checkpoints import FOLDER, unfinished_work

OUTPUT = "features/toy/words.h5"


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    """An input file, in an empty folder that is the working folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "items.csv"
    path.write_text("id\n")
    return path


def interrupted(output, job, inputs):
    """Work that is stopped after a first result; which results were there before."""
    with contextlib.suppress(KeyboardInterrupt), unfinished_work(output, job, inputs) as folder:
        found = sorted(path.name for path in folder.iterdir())
        (folder / f"part{len(found)}").write_text("done")
        raise KeyboardInterrupt
    return found


def test_work_that_was_stopped_is_found_again(tmp_path, table):
    output = Path(OUTPUT)
    assert interrupted(output, {"dims": 3}, [table]) == []
    assert interrupted(output, {"dims": 3}, [table]) == ["part0"]
    assert interrupted(output, {"dims": 3}, [table]) == ["part0", "part1"]


def test_another_job_starts_empty_and_removes_what_is_stale(tmp_path, table):
    output = Path(OUTPUT)
    interrupted(output, {"dims": 3}, [table])
    assert interrupted(output, {"dims": 4}, [table]) == []
    assert interrupted(output, {"dims": 3}, [table]) == []


@pytest.mark.parametrize("next_job", [{"dims": 3}, {"dims": 4}])
def test_what_a_killed_removal_left_is_not_found_again(tmp_path, table, monkeypatch, next_job):
    output = Path(OUTPUT)
    interrupted(output, {"dims": 3}, [table])
    interrupted(output, {"dims": 3}, [table])

    def remove_half(folder):
        next(Path(folder).rglob("part0")).unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        patch.setattr("shutil.rmtree", remove_half)
        with unfinished_work(output, next_job, [table]):
            pass
    assert interrupted(output, {"dims": 3}, [table]) == []
    assert len(list((tmp_path / FOLDER / f"{output}.work").iterdir())) == 1


def test_a_changed_input_starts_empty(tmp_path, table):
    output = Path(OUTPUT)
    interrupted(output, {}, [table])
    table.write_text("id\nnew\n")
    assert interrupted(output, {}, [table]) == []


def test_a_further_input_starts_empty(tmp_path, table):
    output = Path(OUTPUT)
    (tmp_path / "other.csv").write_text("")
    interrupted(output, {}, [table])
    assert interrupted(output, {}, [table, tmp_path / "other.csv"]) == []


def test_finished_work_is_removed(tmp_path, table):
    output = Path(OUTPUT)
    interrupted(output, {}, [table])
    with unfinished_work(output, {}, [table]) as folder:
        assert (folder / "part0").exists()
    assert not folder.exists()
    assert interrupted(output, {}, [table]) == []


@pytest.mark.parametrize(
    "second",
    ["models/seed1", "models", "models/seed0.1/fold1", "models/seed0.2", "models/seed0.h5"],
)
def test_outputs_do_not_share_their_work(tmp_path, table, second):
    first, second = Path("models/seed0.1"), Path(second)
    interrupted(first, {}, [table])
    assert interrupted(second, {}, [table]) == []
    with unfinished_work(second, {}, [table]):
        pass
    assert interrupted(first, {}, [table]) == ["part0"]


def test_a_second_process_waits_for_the_first(table):
    output, order = Path(OUTPUT), []

    def work(name):
        with unfinished_work(output, {}, [table]):
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
def test_an_output_elsewhere_is_never_touched(tmp_path, table, monkeypatch, outside):
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    home = tmp_path / "models" / "seed0"
    home.mkdir(parents=True)
    (home / "model.json").write_text("fitted")
    output = home if outside == "absolute" else Path("../models/seed0")
    with unfinished_work(output, {}, [table]) as folder:
        assert folder.resolve().is_relative_to(inner / FOLDER)
    assert (home / "model.json").read_text() == "fitted"


def test_a_missing_input_is_named(tmp_path):
    output, missing = Path(OUTPUT), tmp_path / "splits.csv"
    with pytest.raises(CrossmodalError, match=str(missing)), unfinished_work(output, {}, [missing]):
        pass
