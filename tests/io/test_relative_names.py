import random

import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.io.relative_names import defect, inside

HOSTILE = [
    *("", ".", "..", "/", "../x", "a/../../x", "a/..", "/etc/passwd", "//host/x"),
    *("a\\..\\x", "C:", "C:x", "c:/x", "a\0b", "a\nb", "\x1b[2J", "\x7f", "\ud800"),
    *(".git", ".git/config", "a/.GIT/hooks/x", "refs/heads/x", "a/./REFS/x", "commondir"),
    *("x" * 256, "é" * 128, "a/" * 512 + "b", None, 5, b"x", ["x"]),
]
PIECES = ["..", ".", "/", "a", "\\", "C:", "\0", "\n", "é", "link", "~", "x" * 200]


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name)[:20])
def test_hostile_names_are_refused_by_name_and_source(tmp_path, name):
    assert defect(name)
    with pytest.raises(CrossmodalError, match=r"^list\.json: the name "):
        inside(tmp_path, name, "list.json")


@pytest.mark.parametrize(
    "name",
    ["a", "a/b.jpg", "./a", "é/日本.png", "a..b", ".a", "-a", "x" * 255, ".gitx", "head", "refs"],
)
def test_names_of_files_are_taken(tmp_path, name):
    assert inside(tmp_path, name, "list.json") == tmp_path / name


def test_what_is_taken_stays_in_its_folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    taken = 0
    for case in range(5000):
        rng = random.Random(case)
        name = "".join(rng.choices(PIECES, k=rng.randint(1, 5)))
        try:
            parent = inside(folder, name, "list.json").parent
        except CrossmodalError:
            continue
        taken += 1
        assert parent.resolve().is_relative_to(folder)
    assert taken > 500


def test_a_folder_that_is_a_link_out_is_refused_a_file_is_not(tmp_path):
    (tmp_path / "out/deep").mkdir(parents=True)
    (tmp_path / "out/file").touch()
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "out")
    (folder / "file").symlink_to(tmp_path / "out/file")
    (folder / "loop").symlink_to(folder / "loop")
    for name in ("link/file", "link/deep/new"):
        with pytest.raises(CrossmodalError, match="leads out of its folder by a link"):
            inside(folder, name, "list.json")
    assert inside(folder, "file", "list.json") == folder / "file"  # as DVC links into its cache
    assert inside(folder, "loop/x", "list.json") == folder / "loop/x"


def test_a_folder_that_is_itself_a_link_holds_its_files(tmp_path):
    (tmp_path / "disk/a").mkdir(parents=True)
    (tmp_path / "features").symlink_to(tmp_path / "disk")
    assert inside(tmp_path / "features", "a/b", "x") == tmp_path / "features/a/b"
