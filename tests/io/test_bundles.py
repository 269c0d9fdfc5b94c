import pytest
import torch
from safetensors.torch import save_file

from crossmodal.errors import CrossmodalError
from crossmodal.io.bundles import read_tensors, small_files, write_bundle

FILES = {"config.json": '{"a": "é"}', "1_Pooling/config.json": "{}"}
FACTS = {"source": "me/mine", "revision": "0123", "sha256": "45", "licence": "MIT"}


def unpack(path, *needed):
    with small_files(path, *needed) as folder:
        return {
            str(place.relative_to(folder)): place.read_text("utf-8")
            for place in folder.rglob("*")
            if place.is_file()
        }


def test_what_is_written_is_read(tmp_path):
    tensors = {"a": torch.arange(6.0).reshape(2, 3).T, "b": torch.zeros(())}
    write_bundle(tmp_path / "b.safetensors", tensors, FILES, FACTS)
    found = read_tensors(tmp_path / "b.safetensors")
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    assert unpack(tmp_path / "b.safetensors", "config.json") == FILES


def test_a_file_that_it_lacks_is_named(tmp_path):
    save_file({"a": torch.zeros(1)}, tmp_path / "b.safetensors")
    with pytest.raises(CrossmodalError, match=r"b\.safetensors: has no config\.json"):
        unpack(tmp_path / "b.safetensors", "config.json")


def test_a_name_that_is_a_file_and_a_folder_is_refused(tmp_path):
    files = {"a.json": "{}", "a.json/b.json": "{}"}
    write_bundle(tmp_path / "b.safetensors", {"a": torch.zeros(1)}, files, {})
    with pytest.raises(CrossmodalError, match="is a file and a folder"):
        unpack(tmp_path / "b.safetensors")


def test_a_file_that_is_no_bundle_is_named(tmp_path):
    (tmp_path / "b.safetensors").write_bytes(b"nothing")
    for read in (read_tensors, unpack):
        with pytest.raises(CrossmodalError, match=r"b\.safetensors: not a safetensors file"):
            read(tmp_path / "b.safetensors")


def test_small_files_that_are_too_large_together_are_an_error(tmp_path):
    with pytest.raises(CrossmodalError, match="cannot hold 1 small files"):
        write_bundle(tmp_path / "b.safetensors", {"a": torch.zeros(1)}, {"a.json": "x" * 10**8}, {})
    assert [*tmp_path.iterdir()] == []
