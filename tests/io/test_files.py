import errno
import hashlib
import io
import os
import signal
import stat
from pathlib import Path

import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import (
    digest,
    find,
    read_csv,
    read_json,
    readable,
    remove_unfinished,
    replacing,
    sha256,
    unlink_shared,
    write_csv,
    write_json,
    write_text,
)


def stop_halfway(path, failure):
    with replacing(path) as temporary:
        temporary.write_text("half of it")
        raise failure


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_block_that_fails_leaves_nothing_behind(tmp_path, failure):
    with pytest.raises(failure):
        stop_halfway(tmp_path / "model.h5", failure)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_block_that_fails_keeps_the_old_file(tmp_path, failure):
    path = tmp_path / "model.h5"
    path.write_text("old")
    with pytest.raises(failure):
        stop_halfway(path, failure)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


def test_a_block_that_succeeds_replaces_the_old_file_at_its_end(tmp_path):
    path = tmp_path / "model.h5"
    path.write_text("old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert [p.read_text() for p in tmp_path.iterdir()] == ["new"]


def test_missing_folders_are_made(tmp_path):
    write_text(tmp_path / "a" / "b" / "c.txt", "new")
    assert (tmp_path / "a" / "b" / "c.txt").read_text() == "new"


def test_a_block_that_writes_nothing_fails(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "model.h5"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def killed(tmp_path):
    """A folder in which a process was killed while it wrote."""
    reached, reach = os.pipe()
    if (process := os.fork()) == 0:
        with replacing(tmp_path / "model.h5") as temporary:
            temporary.write_text("half of it")
            os.write(reach, b".")
            signal.pause()
    os.read(reached, 1)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return tmp_path


def test_unfinished_files_are_hidden_and_removed(killed):
    (left,) = killed.iterdir()
    assert left.name.startswith(".unfinished-")
    assert "half of it" in [path.read_text() for path in left.iterdir()]
    remove_unfinished(killed.parent)
    assert list(killed.iterdir()) == []


def test_what_is_still_being_written_is_not_removed(tmp_path):
    with replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("half")
        remove_unfinished(tmp_path)
        temporary.write_text("whole")
    assert (tmp_path / "a.txt").read_text() == "whole"


@pytest.mark.parametrize("content", [(), ("locking",), ("new.model.h5",), ("lock", "new.model.h5")])
def test_leftovers_of_any_moment_are_removed(tmp_path, content):
    left = tmp_path / "models" / ".unfinished-1"
    left.mkdir(parents=True)
    for name in content:
        (left / name).write_text("half of it")
    remove_unfinished(tmp_path)
    assert list(left.parent.iterdir()) == []


def test_files_written_while_leftovers_are_removed_arrive(tmp_path):
    if (process := os.fork()) == 0:
        while True:
            remove_unfinished(tmp_path)
    try:
        for number in range(300):
            write_text(tmp_path / f"{number}.txt", "whole")
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    remove_unfinished(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"{n}.txt" for n in range(300)}


def test_links_that_lead_in_circles_are_searched_once(tmp_path):
    for name in "abcdef":
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.h5").touch()
    for name in "abcdef":
        for other in "abcdef":
            (tmp_path / name / other).symlink_to(tmp_path / other)
    (tmp_path / "self").symlink_to("self")
    assert find(tmp_path, "model.h5") == [tmp_path / name / "model.h5" for name in "abcdef"]


def test_what_lies_behind_a_link_is_searched(tmp_path):
    (tmp_path / "disk/sam").mkdir(parents=True)
    (tmp_path / "disk/sam/.records.json").touch()
    (tmp_path / "models").symlink_to("disk")
    (tmp_path / "more").mkdir()
    (tmp_path / "more/sam").symlink_to("../disk/sam")
    for folder in ("models", "more"):
        place = tmp_path / folder / "sam/.records.json"
        assert find(tmp_path / folder, ".records.json") == [place]


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_a_name_that_is_a_link_is_removed_alone(tmp_path, link):
    cached, path = tmp_path / "cached", tmp_path / "benchmark.tsv"
    cached.write_text("whole")
    link(cached, path)
    unlink_shared(path)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["whole"]
    unlink_shared(cached)
    assert cached.exists()
    path.symlink_to("gone")
    unlink_shared(path)
    assert not path.is_symlink()


def test_temporary_file_has_the_suffix_of_its_format(tmp_path):
    with replacing(tmp_path / "figure.svg") as temporary:
        temporary.touch()
        assert temporary.suffix == ".svg"


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_follow_the_umask(tmp_path, restore_umask, umask, mode):
    restore_umask(umask)
    write_text(tmp_path / "a.txt", "")
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == mode


def test_writing_leaves_the_umask_alone(tmp_path, restore_umask):
    restore_umask(0o027)
    write_text(tmp_path / "a.txt", "")
    assert restore_umask(0o022) == 0o027


def test_rights_follow_the_umask_whatever_the_block_set(tmp_path, restore_umask):
    restore_umask(0o002)
    with replacing(tmp_path / "w.safetensors") as temporary:
        temporary.touch(0o600)
    assert stat.S_IMODE((tmp_path / "w.safetensors").stat().st_mode) == 0o664


def test_a_second_name_of_a_file_leaves_its_rights(tmp_path):
    (tmp_path / "mirror").touch(0o400)
    with replacing(tmp_path / "a.txt") as temporary:
        os.link(tmp_path / "mirror", temporary)
    assert stat.S_IMODE((tmp_path / "mirror").stat().st_mode) == 0o400


def test_a_file_that_may_not_be_read_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "a").touch()
    monkeypatch.setattr(io, "open", deny)
    with pytest.raises(CrossmodalError, match="a: Permission denied; let its owner allow"):
        readable(tmp_path / "a")
    with pytest.raises(CrossmodalError, match="b: No such file or directory; make it first"):
        readable(tmp_path / "b")


def deny(path, *_, **__):
    code = errno.EACCES if os.path.exists(path) else errno.ENOENT
    raise OSError(code, os.strerror(code), path)


@pytest.fixture
def restore_umask():
    """`os.umask` whose effect ends with the test."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "a, b",
        'the "red" one',
        "two\nlines",
        "two\r\nlines",
        "a\rb",
        "Ærøskøbing 猫 🦜",
        "",
    ],
)
def test_csv_gives_back_what_was_written(tmp_path, text):
    write_csv(tmp_path / "a.csv", ["id", "text"], [["1", text], ["2", "next"]])
    rows = [{"id": "1", "text": text}, {"id": "2", "text": "next"}]
    assert read_csv(tmp_path / "a.csv", ["id", "text"]) == rows


def test_rows_that_fail_halfway_leave_no_csv(tmp_path):
    def rows():
        yield ["1"]
        raise ValueError("no second row")

    with pytest.raises(ValueError, match="no second row"):
        write_csv(tmp_path / "a.csv", ["id"], rows())
    assert list(tmp_path.iterdir()) == []


def test_a_csv_may_have_no_rows_and_further_columns(tmp_path):
    write_csv(tmp_path / "a.csv", ["id", "text", "note"], [])
    assert read_csv(tmp_path / "a.csv", ["id", "text"]) == []


@pytest.mark.parametrize(
    ("content", "fragment"),
    [
        (b"id,words\n1,a\n", "'text'"),
        (b"id,words\n", "'text'"),
        (b"", "'id'"),
        (b"id,text\n1\n", "row 1"),
        (b"id,text\n1,a,b\n", "row 1"),
        (b"id,text\n1,\xff\n", "UTF-8"),
        (b"id,text\n1,a\n2,a\0b\n", "row 2 has a NUL character"),
    ],
)
def test_a_csv_that_is_not_as_expected_is_named(tmp_path, content, fragment):
    path = tmp_path / "items.csv"
    path.write_bytes(content)
    with pytest.raises(CrossmodalError) as caught:
        read_csv(path, ["id", "text"])
    assert str(path) in str(caught.value)
    assert fragment in str(caught.value)


@pytest.mark.parametrize("read", [lambda path: read_csv(path, ["id"]), read_json])
def test_a_missing_file_is_named(tmp_path, read):
    with pytest.raises(CrossmodalError, match=str(tmp_path / "none")):
        read(tmp_path / "none")


def test_json_gives_back_what_was_written_with_sorted_keys(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"b": [1, 2.5, None], "a": {"ü": "猫"}})
    assert read_json(path) == {"a": {"ü": "猫"}, "b": [1, 2.5, None]}
    assert path.read_text().index('"a"') < path.read_text().index('"b"')


@pytest.mark.parametrize("content", [b"", b'{"a": 1', b"\xff\xfe"])
def test_a_file_that_is_no_json_is_named(tmp_path, content):
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(CrossmodalError, match=f"{path}: cannot be read as JSON"):
        read_json(path)


def test_a_digest_depends_on_values_and_not_on_the_order_of_keys():
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
    others = [digest({"a": 1, "b": [3]}), digest({"a": "1", "b": [2]}), digest({"a": 1}, [2])]
    assert len({digest({"a": 1, "b": [2]}), *others}) == 4


def test_sha256_is_that_of_the_content(tmp_path):
    content = b"crossmodal" * 100_000
    (tmp_path / "a").write_bytes(content)
    assert sha256(tmp_path / "a") == hashlib.sha256(content).hexdigest()


def test_file_and_folders_are_synced_around_the_rename(tmp_path, monkeypatch):
    events, sync, rename = [], os.fsync, Path.replace

    def note_sync(handle):
        events.append(Path(os.readlink(f"/proc/self/fd/{handle}")).name)
        sync(handle)

    def note_rename(new, path):
        events.append("rename")
        return rename(new, path)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(Path, "replace", note_rename)
    write_text(tmp_path / "a" / "b" / "c.txt", "new")
    assert events == [tmp_path.name, "a", "new.c.txt", "rename", "b"]
