"""Models of the hub become one file each, from a host on the loopback interface."""

import hashlib
import io
import json
import socket
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save

from crossmodal.data.fetching import ARCHIVES, MIRROR
from crossmodal.errors import CrossmodalError
from crossmodal.io.hub import Model, model_of
from crossmodal.pretrained.backbones import random_network, trained_network
from crossmodal.steps.weights import weights as fetch_weights

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPOSITORY = "someone/tiny-model"
FILE = "someone--tiny-model.safetensors"
TENSORS = {"a.weight": torch.arange(6.0).reshape(2, 3), "a.bias": torch.zeros(2)}
CONFIG = b'{"width": 2}'


def checkpoint(tensors):
    stream = io.BytesIO()
    torch.save(tensors, stream)
    return stream.getvalue()


def page(files, checksums=True):
    """What the hub says of a repository."""
    siblings = []
    for name, content in files.items():
        large = Path(name).suffix in (".safetensors", ".bin") and checksums
        digest = hashlib.sha256(content).hexdigest()
        lfs = {"lfs": {"sha256": digest, "size": len(content), "pointerSize": 1}} if large else {}
        siblings.append({"rfilename": name, "size": len(content), **lfs})
    card = {"license": "apache-2.0"}
    said = {"id": REPOSITORY, "sha": COMMIT, "cardData": card, "siblings": siblings}
    return json.dumps({**said, "private": False, "tags": [], "downloads": 0, "likes": 0}).encode()


@pytest.fixture
def publish(server, monkeypatch, tmp_path):
    """Make the host one of huggingface_hub's that has a repository of some files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.delenv(MIRROR, raising=False)
    # no user's own settings
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_IMPLICIT_TOKEN", True)

    def publish(files, revision="", checksums=True):
        at = f"/revision/{revision}" if revision else ""
        answer = page(files, checksums)
        server.files[f"/api/models/{REPOSITORY}{at}?blobs=true"] = lambda handler: handler.answer(
            answer, Content_Type="application/json"
        )
        for name, content in files.items():
            tag = hashlib.sha256(content).hexdigest()
            server.files[f"/{REPOSITORY}/resolve/{COMMIT}/{name}"] = (
                lambda handler, content=content, tag=tag: handler.answer(
                    content, ETag=f'"{tag}"', X_Repo_Commit=COMMIT
                )
            )
        return server

    return publish


def metadata(path):
    with safe_open(path, "pt") as opened:
        return opened.metadata()


def test_model_becomes_one_file_with_texts_and_origin(publish, tmp_path):
    files = {
        "model.safetensors": save(TENSORS),
        "config.json": CONFIG,
        "1_Pooling/config.json": b"{}",
        "modeling.py": b"raise SystemExit",
        "pytorch_model.bin": b"not read",
    }
    server = publish(files)
    output = tmp_path / "raw" / FILE
    fetch_weights(output)
    found = load_file(output)
    assert all(torch.equal(found[name], value) for name, value in TENSORS.items())
    assert metadata(output) == {
        "config.json": CONFIG.decode(),
        "1_Pooling/config.json": "{}",
        "source": REPOSITORY,
        "revision": COMMIT,
        "licence": "apache-2.0",
        "sha256": hashlib.sha256(files["model.safetensors"]).hexdigest(),
    }
    assert not [path for path in server.requested if path.endswith((".py", ".bin"))]
    assert [*(tmp_path / ARCHIVES).iterdir()] == []


def test_a_revision_is_part_of_the_name(publish, tmp_path):
    server = publish({"model.safetensors": save(TENSORS)}, revision="v1.0")
    model = Model(REPOSITORY, "v1.0")
    assert model.file == "someone--tiny-model@v1.0.safetensors"
    assert model_of(model.file) == model
    fetch_weights(tmp_path / model.file)
    assert metadata(tmp_path / model.file)["revision"] == COMMIT
    assert server.requested[0].startswith(f"/api/models/{REPOSITORY}/revision/v1.0")


def test_open_clip_tensors_precede_those_of_transformers(publish, tmp_path):
    files = {"model.safetensors": save({"theirs": torch.zeros(1)}), "open_clip_config.json": b"{}"}
    publish({**files, "open_clip_model.safetensors": save(TENSORS)})
    fetch_weights(tmp_path / FILE)
    assert load_file(tmp_path / FILE).keys() == TENSORS.keys()


@pytest.mark.parametrize(
    "name", ["vgg16-397923af.safetensors", "mine.safetensors", "--a.safetensors", "a--b.bin"]
)
def test_other_names_are_no_models_of_the_hub(name):
    assert model_of(name) is None


def test_weights_of_pytorch_are_read_without_running_them(publish, tmp_path):
    shared = TENSORS["a.weight"]
    publish({"pytorch_model.bin": checkpoint({"a.weight": shared, "tied.weight": shared})})
    fetch_weights(tmp_path / FILE)
    assert torch.equal(load_file(tmp_path / FILE)["tied.weight"], shared)
    harmful = b"\x80\x02cos\nsystem\n(S'true'\ntR."
    publish({"pytorch_model.bin": harmful})
    with pytest.raises(CrossmodalError, match=r"pytorch_model\.bin: not a file of weights"):
        fetch_weights(tmp_path / "again" / FILE)
    assert not (tmp_path / "again" / FILE).exists()


@pytest.mark.parametrize("held", [{"state_dict": TENSORS, "epoch": 3}, [torch.zeros(2)]])
def test_weights_that_are_no_state_dict_are_named(publish, tmp_path, held):
    publish({"pytorch_model.bin": checkpoint(held)})
    with pytest.raises(CrossmodalError, match=r"pytorch_model\.bin: holds more than tensors"):
        fetch_weights(tmp_path / FILE)
    assert not (tmp_path / FILE).exists()


def test_a_file_with_another_checksum_is_refused(publish, tmp_path):
    server = publish({"model.safetensors": save(TENSORS)})
    wrong = save(TENSORS | {"a.bias": torch.ones(2)})
    address = f"/{REPOSITORY}/resolve/{COMMIT}/model.safetensors"
    server.files[address] = lambda handler: handler.answer(
        wrong, ETag='"other"', X_Repo_Commit=COMMIT
    )
    with pytest.raises(CrossmodalError, match=r"checksum is \w+, published is \w+"):
        fetch_weights(tmp_path / FILE)
    assert not (tmp_path / FILE).exists()


def test_what_cannot_be_had_is_named_with_its_size_and_both_ways(publish, server, tmp_path):
    publish({"model.safetensors": save(TENSORS)})
    del server.files[f"/{REPOSITORY}/resolve/{COMMIT}/model.safetensors"]
    with pytest.raises(CrossmodalError) as caught:
        fetch_weights(tmp_path / FILE)
    size = f"({len(save(TENSORS))} bytes)"
    for part in (f"{REPOSITORY}, model.safetensors {size}", "<mirror>/weights/someone/tiny-model/"):
        assert part in str(caught.value)
    assert f"crossmodal weights {tmp_path / FILE}" in str(caught.value)


def test_a_model_that_the_hub_lacks_is_named(publish, server, tmp_path):
    publish({})
    server.files["/api/models/someone/other?blobs=true"] = lambda handler: handler.answer(
        b"", 404, X_Error_Code="RepoNotFound"
    )
    with pytest.raises(CrossmodalError, match=r"someone/other: RepositoryNotFoundError: "):
        fetch_weights(tmp_path / "someone--other.safetensors")
    with pytest.raises(CrossmodalError, match=r"has neither model\.safetensors nor pytorch_model"):
        fetch_weights(tmp_path / FILE)


def test_a_host_that_does_not_answer_is_named(publish, tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
    with pytest.raises(CrossmodalError, match=r"someone/tiny-model: ConnectError: .*refused"):
        fetch_weights(tmp_path / FILE)


def test_a_text_that_is_none_is_named(publish, tmp_path):
    publish({"model.safetensors": save(TENSORS), "vocab.txt": b"\xff\xfe"})
    with pytest.raises(CrossmodalError, match=r"vocab\.txt: is no text in UTF-8"):
        fetch_weights(tmp_path / FILE)


def test_a_mirror_has_the_file_or_the_repositorys_folder(publish, server, tmp_path, monkeypatch):
    monkeypatch.setenv(MIRROR, str(tmp_path / "mirror"))
    folder = tmp_path / "mirror" / "weights" / REPOSITORY
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(save(TENSORS))
    (folder / "config.json").write_bytes(CONFIG)
    fetch_weights(tmp_path / FILE)
    assert metadata(tmp_path / FILE)["config.json"] == CONFIG.decode()
    (tmp_path / "mirror" / "weights" / FILE).write_bytes(b"as it is")
    fetch_weights(tmp_path / "again" / FILE)
    assert (tmp_path / "again" / FILE).read_bytes() == b"as it is"
    assert server.requested == []


def test_a_network_of_timm_is_fetched_and_used(publish, tmp_path):
    """Its weights are those of the repository, whatever else the bundle holds."""
    expected = random_network("timm/test_convnext", seed=3)
    publish({"model.safetensors": save(expected.state_dict()), "config.json": CONFIG})
    fetch_weights(tmp_path / FILE)
    found = trained_network("timm/test_convnext", tmp_path / FILE)
    images = torch.ones(1, 3, 160, 160)
    assert torch.equal(found(images), expected(images))


@pytest.mark.parametrize(
    "name", ["../../evil.json", "/evil.json", "a\\..\\evil.json", "C:evil.json"]
)
def test_a_file_outside_of_the_repository_is_refused(publish, tmp_path, name):
    publish({"model.safetensors": save(TENSORS), "config.json": CONFIG, name: b"{}"})
    with pytest.raises(CrossmodalError, match=rf"{REPOSITORY}: the name .*evil"):
        fetch_weights(tmp_path / "raw" / FILE)
    assert not list(tmp_path.rglob("evil*"))
