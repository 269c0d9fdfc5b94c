"""Repositories of the hub, of a host on the loopback interface."""

import os
import signal
import socket
import subprocess
import sys

import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.io.hub_repository import Repository, fetch, publish, repository_of
from tests import hub_host
from tests.hub_host import READER

REPOSITORY = Repository("team/toy")
TENSORS = bytes(range(256)) * 400
FILES = {"README.md": b"---\nlicense: mit\n---\n", "a.json": b"{}", "a.safetensors": TENSORS}
NEEDED = ("a.json", "a.safetensors")


def contents(folder):
    return {name: (folder / name).read_bytes() for name in NEEDED}


def test_what_is_pushed_is_what_is_fetched(hub, tmp_path):
    (tmp_path / "a.safetensors").write_bytes(TENSORS)
    address = publish(REPOSITORY, FILES | {"a.safetensors": tmp_path / "a.safetensors"}, False)
    held = hub.repositories["models", "team/toy"]
    assert held.files == FILES | {".gitattributes": b""}
    assert address.endswith(held.name_of(1))
    assert contents(fetch(REPOSITORY, NEEDED)) == {name: FILES[name] for name in NEEDED}


def test_a_revision_is_fetched_after_another_push(hub):
    publish(REPOSITORY, FILES, False)
    first = hub.repositories["models", "team/toy"].name_of(1)
    publish(REPOSITORY, FILES | {"a.json": b"[]"}, False)
    assert contents(fetch(REPOSITORY, NEEDED))["a.json"] == b"[]"
    assert contents(fetch(Repository("team/toy", first), NEEDED))["a.json"] == b"{}"
    with pytest.raises(CrossmodalError, match=r"hf://team/toy@v9: has no revision 'v9'"):
        fetch(Repository("team/toy", "v9"), NEEDED)


def test_a_dataset_is_pushed_as_one(hub):
    publish(Repository("team/toy", kind="dataset"), FILES, False)
    assert [*hub.repositories] == [("datasets", "team/toy")]


def test_a_push_that_fails_leaves_the_repository_as_it_was(hub):
    publish(REPOSITORY, FILES, False)
    hub.faults["/lfs/"] = 400
    with pytest.raises(CrossmodalError, match=r"hf://team/toy: the hub refused"):
        publish(REPOSITORY, FILES | {"a.json": b"[]", "a.safetensors": b"other"}, False)
    assert len(hub.repositories["models", "team/toy"].commits) == 2


def test_a_private_repository_stays_private_or_is_refused(hub):
    publish(REPOSITORY, FILES, True)
    assert hub.repositories["models", "team/toy"].private
    hub.hold("team/open", {})
    with pytest.raises(CrossmodalError, match=r"hf://team/open: is public; make it private"):
        publish(Repository("team/open"), FILES, True)
    assert hub.repositories["models", "team/open"].files == {".gitattributes": b""}


def test_a_repository_with_other_files_is_not_pushed_to(hub):
    hub.hold("team/toy", {"model.bin": b"theirs", "README.md": b"theirs"})
    with pytest.raises(CrossmodalError, match=r"holds other files: model\.bin; remove them"):
        publish(REPOSITORY, FILES, False)
    assert len(hub.repositories["models", "team/toy"].commits) == 1


def check_that_nothing_is_fetched(hub, reason):
    """The whole repository is refused before one of its files is asked for."""
    with pytest.raises(CrossmodalError, match=reason):
        fetch(REPOSITORY, NEEDED)
    assert not [path for _, path in hub.asked if "/resolve/" in path]


@pytest.mark.parametrize("name", ["a.bin", "modeling.py", "a.pkl", "b/c.pt", "a.safetensors.exe"])
def test_code_and_pickles_keep_a_repository_from_being_fetched(hub, name):
    hub.hold("team/toy", FILES | {name: b"cos\nsystem\n"})
    check_that_nothing_is_fetched(hub, f"more than JSON, safetensors and a card.*{name}")


@pytest.mark.parametrize("name", ["../a.json", "/etc/a.json", "a\\b.json", "C:a.json", "a\n.json"])
def test_a_hostile_name_keeps_a_repository_from_being_fetched(hub, name):
    hub.hold("team/toy", FILES | {name: b"{}"})
    check_that_nothing_is_fetched(hub, r"hf://team/toy: the name ")


def test_a_repository_without_a_needed_file_is_named(hub):
    hub.hold("team/toy", {"a.json": b"{}"})
    with pytest.raises(CrossmodalError, match=r"hf://team/toy: lacks a\.safetensors"):
        fetch(REPOSITORY, NEEDED)


def test_another_content_than_the_published_one_is_refused(hub, monkeypatch):
    hub.hold("team/toy", FILES)

    def resolve(self, _, kind, name, revision, file):
        content = bytes(len(TENSORS)) if file == "a.safetensors" else FILES[file]
        self.answer(content, ETag=f'"{file}"', X_Repo_Commit=revision)

    monkeypatch.setitem(hub_host.ROUTES, hub_host.FILE, resolve)
    for _ in range(2):
        with pytest.raises(CrossmodalError, match=r"checksum is \w+, published is \w+"):
            fetch(REPOSITORY, NEEDED)


def test_nobody_and_readers_cannot_push(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", READER)
    with pytest.raises(CrossmodalError, match=r"take one that may write to this repository"):
        publish(REPOSITORY, FILES, False)
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(CrossmodalError, match=r"does not know who asks; log in with `hf auth log"):
        publish(REPOSITORY, FILES, False)
    assert not hub.repositories


def test_a_missing_or_private_repository_is_named(hub, monkeypatch):
    missing = r"hf://team/toy: is not there, or is private; check the name, or log in"
    with pytest.raises(CrossmodalError, match=missing):
        fetch(REPOSITORY, NEEDED)
    hub.hold("team/toy", FILES, private=True)
    assert fetch(REPOSITORY, NEEDED).name
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(CrossmodalError, match=missing):
        fetch(REPOSITORY, NEEDED)


def test_a_hub_that_does_not_answer_is_named(hub, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
    for act in (lambda: fetch(REPOSITORY, NEEDED), lambda: publish(REPOSITORY, FILES, False)):
        with pytest.raises(CrossmodalError, match=r"hf://team/toy: the hub cannot be reached \(Co"):
            act()


@pytest.mark.parametrize("address", ["toy", "a/b/c", "hf://team/", "team/toy@", "https://a/b", ""])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(CrossmodalError, match="a repository is ORG/NAME or ORG/NAME@REVISION"):
        repository_of(address)


def test_an_address_is_read_as_it_is_written():
    for repository in (REPOSITORY, Repository("team/toy", "v1.0")):
        assert repository_of(str(repository)) == repository


def test_a_fetch_that_is_killed_leaves_no_half_file(hub):
    """The process dies in the middle of an answer; the next one fetches the rest."""
    hub.hold("team/toy", FILES)
    places = f"c.HF_HUB_CACHE, c.HF_HUB_DISABLE_XET = {str(hub.cache)!r}, True"
    program = (
        f"import huggingface_hub.constants as c; {places}; "
        "from crossmodal.io.hub_repository import Repository, fetch; "
        f"input(); fetch(Repository('team/toy'), {NEEDED})"
    )
    # tests of encoders forbid the network to their process
    online = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}
    command = [sys.executable, "-c", program]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env=online)
    hub.faults["/a.safetensors"] = process.kill
    process.communicate(b"\n")
    assert process.returncode == -signal.SIGKILL
    assert [*hub.cache.rglob("a.json")]
    assert not [*hub.cache.rglob("a.safetensors")]
    hub.faults.clear()
    assert contents(fetch(REPOSITORY, NEEDED)) == {name: FILES[name] for name in NEEDED}
