import contextlib
import hashlib
import json
import shutil
from pathlib import Path

import pytest
from dvc.repo import Repo

from crossmodal.errors import CrossmodalError
from crossmodal.workflow import listings, sharing

CONTENT = b"made"


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    """A folder with a project, whose one output is in the remote beside it alone."""
    place = tmp_path_factory.mktemp("pushed")
    folder = place / "project"
    folder.mkdir()
    (folder / "dvc.yaml").write_text(
        "stages:\n  extract:\n    cmd: echo\n    outs: [features: {persist: true}]\n"
    )
    (folder / "features/toy").mkdir(parents=True)
    (folder / "features/toy/bow.h5").write_bytes(CONTENT)
    with Repo.init(str(folder), no_scm=True) as repo, repo.config.edit() as config:
        config["remote"]["team"] = {"url": str(place / "remote")}
        config["core"] |= {"remote": "team", "analytics": False}
    with contextlib.chdir(folder), Repo() as repo:
        repo.reproduce()
        repo.push()
    shutil.rmtree(folder / ".dvc/cache")
    shutil.rmtree(folder / "features")
    return place


@pytest.fixture
def project(pushed, tmp_path, monkeypatch):
    """A copy of the project, with a remote of its own."""
    shutil.copytree(pushed, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path / "project")
    config = Path(".dvc/config")
    config.write_text(config.read_text().replace(str(pushed), str(tmp_path)))
    return tmp_path / "project"


def remote(project):
    return project.parent / "remote/files/md5"


def add(project, relpath, md5=None):
    """Add a file to the listing of the remote, which keeps its name."""
    content = b"hostile"
    md5 = md5 or hashlib.md5(content).hexdigest()
    stored = remote(project) / md5[:2] / md5[2:]
    stored.parent.mkdir(parents=True, exist_ok=True)
    if ".." not in md5:
        stored.write_bytes(content)
    (listing,) = remote(project).rglob("*.dir")
    files = json.loads(listing.read_text())
    listing.chmod(0o644)
    listing.write_text(json.dumps([*files, {"relpath": relpath, "md5": md5}]))
    return listing


def publish(project, content):
    """Put a listing into the remote, under the name of its content."""
    name = f"{hashlib.md5(content).hexdigest()}.dir"
    path = remote(project) / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return name


def test_a_pull_brings_what_the_lock_names(project, capfd):
    sharing.pull([])
    assert Path("features/toy/bow.h5").read_bytes() == CONTENT
    assert "features: as in dvc.lock" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("relpath", "md5"),
    [("../../outside", None), ("/outside", None), ("toy/new.h5", None), ("y", "aa../../../../x")],
)
def test_a_listing_that_the_lock_does_not_name_is_refused(project, relpath, md5):
    add(project, relpath, md5)
    before = sorted(project.parent.rglob("*"))
    with pytest.raises(CrossmodalError, match="has another listing of files"):
        sharing.pull([])
    after = [path for path in sorted(project.parent.rglob("*")) if ".dvc" not in path.parts]
    assert after == [path for path in before if ".dvc" not in path.parts]


HOSTILE = [
    "../x",
    "/x",
    "a\0b",
    "a\\b",
    "C:x",
    "a\nb",
    "x" * 256,
    "",
    "toy/.dvcignore",
    ".DVCignore",
]


@pytest.mark.parametrize("relpath", HOSTILE)
def test_a_listing_with_a_hostile_name_is_refused_by_itself(project, relpath):
    name = publish(project, add(project, relpath).read_bytes())
    with pytest.raises(CrossmodalError, match=f"{name}: the name "):
        listings.fetch_listing(name)
    assert not Path(".dvc/cache/files/md5", name[:2], name[2:]).exists()


def test_a_listing_that_is_not_there_ends_the_pull(project):
    (listing,) = remote(project).rglob("*.dir")
    listing.unlink()
    with pytest.raises(CrossmodalError, match=r"\.dir: not to be had from the remote"):
        sharing.pull([])
    assert not Path("features").exists()


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'[{"relpath": "a", "md5": "../x"}]'])
def test_what_is_no_listing_is_refused(project, content):
    name = publish(project, content)
    with pytest.raises(CrossmodalError, match=f"{name}: no listing of files"):
        listings.fetch_listing(name)


def test_files_that_differ_are_named_and_corrupt_copies_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(listings, "_cached", lambda name: tmp_path / "cache" / name)
    (tmp_path / "cache").mkdir()
    files = []
    for name, content in (("right", b"right"), ("wrong", b"WRONG"), ("edited", b"mine")):
        md5 = hashlib.md5(name.encode()).hexdigest()
        files.append(listings.File(relpath=name, md5=md5))
        (tmp_path / name).write_bytes(content)
        (tmp_path / "cache" / md5).write_bytes(b"WRONG" if name == "wrong" else name.encode())
    files.append(listings.File(relpath="missing", md5="0" * 32))
    wrong = listings.wrong_files(tmp_path, files)
    assert [Path(line.split(" (")[0]).name for line in wrong] == ["wrong", "edited", "missing"]
    left = [(tmp_path / "cache" / file.md5).exists() for file in files]
    assert left == [True, False, True, False]
