import json

import h5py
import numpy as np
import pytest
from safetensors.numpy import load_file

from crossmodal.config import plugins
from crossmodal.data.feature_reader import read_features
from crossmodal.errors import CrossmodalError
from crossmodal.steps.embed import embed
from tests.workflow.project import PARAMS


def embed_again(run, **changes):
    paths = {"folder": run.data.folder, "features": run.data.features, "model": run.model}
    embed(run.spec, run.embeddings, **(paths | changes))


@pytest.mark.parametrize("split", ["validation", "test"])
@pytest.mark.parametrize(("modality", "name"), [("image", "pixels"), ("text", "words")])
def test_embeddings_are_the_projected_features_of_their_split(run_toy, split, modality, name):
    run = run_toy()
    state = load_file(run.model)
    content = read_features(run.data.features / f"{name}.h5")
    items = [item.id for item in run.data.dataset.split(split)]
    rows = [row for row, owner in enumerate(content.items) if owner in items]
    projected = content.features[rows] - state[f"mean.{modality}"]
    with h5py.File(run.embeddings) as file:
        view = {key: file[split][modality][key][()] for key in ("embeddings", "items", "labels")}
    with h5py.File(run.embeddings) as file:
        assert file[split][modality]["ids"].asstr()[()].tolist() == [content.ids[r] for r in rows]
    np.testing.assert_allclose(view["embeddings"], projected @ state[f"map.{modality}"], rtol=1e-6)
    assert [items[owner] for owner in view["items"]] == [content.items[row] for row in rows]
    categories = {item.id: item.category for item in run.data.dataset.items}
    found = [f"category{c}" for c in view["labels"].argmax(axis=1)]
    assert found == [categories[content.items[row]] for row in rows]
    assert (view["labels"].sum(axis=1) == 1).all()


def test_embedding_file_has_splits_modalities_and_facts(run_toy):
    run = run_toy()
    with h5py.File(run.embeddings) as file:
        assert sorted(file) == ["test", "validation"]
        assert [sorted(file[name]) for name in file] == [["image", "text"]] * 2
        assert json.loads(file.attrs["modalities"]) == ["image", "text"]
        facts = json.loads(file.attrs["model"])
    assert facts == json.loads(run.model.with_suffix(".json").read_text())["fit"]


def test_the_options_that_were_found_are_used(run_toy, monkeypatch):
    """The experiment asks for 4 dimensions and searches 5 and 3."""
    run = run_toy()
    used, make = [], plugins.make

    def record(kind, name, options, where):
        used.append(options)
        return make(kind, name, options, where)

    monkeypatch.setattr(plugins, "make", record)
    embed_again(run)
    assert used == [json.loads(run.model.with_suffix(".json").read_text())["fit"]["options"]]
    assert used[0]["dims"] in (3, 5)


def test_without_labels_none_are_written(run_toy):
    with h5py.File(run_toy(labelled=False).embeddings) as file:
        assert sorted(file["test"]["image"]) == ["embeddings", "ids", "items"]


def test_a_missing_model_is_named(run_toy, tmp_path):
    with pytest.raises(CrossmodalError, match=r"none/model\.json"):
        embed_again(run_toy(), model=tmp_path / "none" / "model.safetensors")


def test_a_corrupt_model_is_named(run_toy):
    run = run_toy()
    run.model.write_bytes(run.model.read_bytes()[:20])
    with pytest.raises(CrossmodalError, match=r"model\.safetensors"):
        embed_again(run)


def test_a_network_larger_than_its_tensors_is_not_built(run_toy):
    run = run_toy()
    description = run.model.with_name("model.json")
    model = json.loads(description.read_text())
    model["fit"] |= {"plugin": "sam", "options": PARAMS["methods"]["sam"] | {"hidden": 400_000}}
    description.write_text(json.dumps(model))
    with pytest.raises(CrossmodalError, match=r"options ask for [\d,]+ numbers or more"):
        embed_again(run)


def test_a_run_that_fails_keeps_the_old_embeddings(run_toy):
    run = run_toy()
    before = run.embeddings.read_bytes()
    (run.data.features / "words.h5").unlink()
    with pytest.raises(CrossmodalError, match=r"words\.h5"):
        embed_again(run)
    assert run.embeddings.read_bytes() == before
