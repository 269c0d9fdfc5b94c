import os
import shutil

import pytest

from crossmodal.io.files import sha256
from crossmodal.workflow import own_files
from crossmodal.workflow.own_files import KEPT, content


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Two files of the user, beside the project's folder, which is the working folder."""
    paths = [tmp_path / "mine" / name for name in ("items.csv", "a.png")]
    paths[0].parent.mkdir()
    for path in paths:
        path.write_bytes(b"content of " + path.name.encode())
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return paths


@pytest.fixture
def read(monkeypatch):
    """Names of the files that are read, which grow."""
    names = []
    monkeypatch.setattr(own_files, "sha256", lambda path: names.append(path.name) or sha256(path))
    return names


def test_a_new_time_of_the_same_bytes_changes_nothing(files, read):
    before = content(files)
    os.utime(files[1], (1, 1))
    assert content(files) == before
    assert read == ["items.csv", "a.png", "a.png"]


def test_a_copied_file_changes_nothing(files):
    before = content(files)
    copy = shutil.copyfile(files[1], files[1].with_name("copy"))
    copy.replace(files[1])
    assert content(files) == before


def test_files_of_known_size_and_time_are_not_read_again(files, read):
    assert content(files) == content(files)
    assert read == ["items.csv", "a.png"]


@pytest.mark.parametrize("new", [b"content of b.png", b"", b"longer than it was before"])
def test_other_bytes_change_the_hash(files, new):
    before = content(files)
    files[1].write_bytes(new)
    assert content(files) != before


def test_another_name_or_number_of_files_changes_the_hash(files):
    before = content(files)
    renamed = [files[0], files[1].rename(files[1].with_name("b.png"))]
    assert len({before, content(renamed), content(files[:1]), content([])}) == 4


@pytest.mark.parametrize(
    "damage", ["", "[]", "{", '{"a": 1}', '{"a": [1, 2]}', '{"a": [[], 1, 2]}']
)
def test_damaged_digests_are_made_again(files, damage):
    before = content(files)
    KEPT.write_text(damage)
    assert content(files) == before


def test_a_folder_that_cannot_be_written_is_no_error(files, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(own_files, "write_text", refuse)
    assert content(files) == content(files)
    assert not KEPT.exists()
