import os

import pytest

from crossmodal.io.folders import (
    BROKEN,
    CLOSED,
    HIDDEN,
    NOT_UTF8,
    ROUND,
    list_files,
)


@pytest.fixture
def folder(tmp_path):
    """A folder with one picture, beside another one."""
    for name in ("photos/a.jpg", "store/sea/b.jpg"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path / "photos"


def names(listing):
    return [path.as_posix() for path in listing.files]


def left_out(folder):
    return {reason: [*map(str, paths)] for reason, paths in list_files(folder).left_out.items()}


def test_linked_folders_and_files_are_followed(folder):
    (folder / "alps").symlink_to("../store/sea")
    (folder / "c.jpg").symlink_to("../store/sea/b.jpg")
    assert names(list_files(folder)) == ["a.jpg", "alps/b.jpg", "c.jpg"]
    assert left_out(folder) == {}


@pytest.mark.parametrize("target", [".", "..", "/", "deep", "../photos/deep"])
def test_a_link_back_or_up_is_named_and_not_followed(folder, target):
    (folder / "deep").mkdir()
    (folder / "deep/c.jpg").touch()
    (folder / "all").symlink_to(target)
    assert names(list_files(folder)) == ["a.jpg", "deep/c.jpg"]
    assert left_out(folder) == {ROUND: ["all"]}


def test_a_folder_that_two_links_lead_to_is_read_once(folder):
    (folder / "one").symlink_to("../store")
    (folder / "two").symlink_to("../store/sea")
    (folder.parent / "store/round").symlink_to(".")
    assert names(list_files(folder)) == ["a.jpg", "one/sea/b.jpg"]
    assert left_out(folder) == {ROUND: ["two", "one/round"]}


@pytest.mark.parametrize(
    "name",
    [
        *("._a.jpg", ".DS_Store", ".thumbnails/a.jpg", ".Trash-1000/files/a.jpg", ".git/a.jpg"),
        *("@eaDir/a.jpg/SYNOPHOTO_THUMB_M.jpg", "__MACOSX/._a.jpg", "Thumbs.db", "#recycle/a.jpg"),
        *("$RECYCLE.BIN/a.jpg", "sub/@eaDir/a.jpg", "sub/desktop.ini"),
    ],
)
def test_hidden_files_and_those_of_systems_are_left_out(folder, name):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).touch()
    assert names(list_files(folder)) == ["a.jpg"]
    assert [*left_out(folder)] == [HIDDEN]


def test_a_hidden_folder_that_is_asked_for_is_read(folder):
    folder.rename(folder.with_name(".photos"))
    assert names(list_files(folder.with_name(".photos"))) == ["a.jpg"]


def test_links_to_nothing_pipes_and_foreign_names_are_named(folder):
    (folder / "gone").symlink_to("nowhere")
    (folder / "self").symlink_to("self")
    os.mkfifo(folder / "pipe")
    os.close(os.open(os.fsencode(folder) + b"/caf\xe9.jpg", os.O_CREAT))
    assert left_out(folder) == {BROKEN: ["gone", "pipe", "self"], NOT_UTF8: ["caf\udce9.jpg"]}


def test_a_folder_that_cannot_be_opened_is_named(folder, monkeypatch):
    (folder / "closed").mkdir()
    listdir = os.listdir

    def refuse(path):
        if path.name == "closed":
            raise PermissionError
        return listdir(path)

    monkeypatch.setattr(os, "listdir", refuse)
    assert names(list_files(folder)) == ["a.jpg"]
    assert left_out(folder) == {CLOSED: ["closed"]}
