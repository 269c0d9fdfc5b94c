import json
import shutil

import numpy as np
import pytest

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.methods.cca import CCA
from crossmodal.methods.cfa import CFA
from crossmodal.models.model_folder import publish_model, read_facts, read_model, write_model

OPTIONS = {"dims": 2, "ridge": 0.1, "power": 1.0}
FACTS = {"plugin": "cca", "options": OPTIONS, "seed": 0}
STATISTICS = np.random.default_rng(0).standard_normal(50).tolist()
META = {
    "extractor": {"plugin": "fne", "options": {"positive": 0.15}, "code": "0123"},
    "mean": STATISTICS,
    "vocabulary": ["a", "b"],
    "layers": [["conv", 0, 3]],
    "sources": {"layers": {"deviation": STATISTICS[::-1], "empty": []}},
}


@pytest.fixture
def folder(rng, tmp_path):
    """A model folder of CCA, text before image."""
    items, ids = np.arange(30), [str(row) for row in range(30)]
    latent = rng.standard_normal((30, 2))
    text, image = (latent @ rng.standard_normal((2, width)) for width in (4, 3))
    views = {"text": View(text, items, ids, {}), "image": View(image, items, ids, META)}
    split = Split(ids, np.zeros((30, 2), bool), views, ("cat", "dog"))
    method = CCA(**OPTIONS)
    method.fit(split, split, Run(seed=0))
    write_model(tmp_path / "seed0", method, FACTS, split)
    (tmp_path / "seed0" / "curve.csv").write_text("epoch\n")
    return tmp_path / "seed0", method, split


def test_a_model_comes_back_with_all_that_was_written(folder):
    path, method, split = folder
    found = read_model(path)
    assert found.facts == FACTS
    assert found.labels == ("cat", "dog")
    assert list(found.views) == ["text", "image"]
    assert found.views["image"].meta == META
    for modality, view in split.views.items():
        assert found.views[modality].features.shape == (0, view.features.shape[1])
        expected = method.embed(modality, view)
        np.testing.assert_array_equal(found.method.embed(modality, view), expected)


def test_arrays_are_not_written_as_text(folder):
    assert not any(str(value) in (folder[0] / "model.json").read_text() for value in STATISTICS)


def test_sequences_round_trip_shape_and_type(tmp_path, folder):
    _, method, split = folder
    clips = Ragged.concatenate([np.zeros((2, 40), np.float16)])
    views = {"speech": View(clips, np.zeros(1, int), ["clip"], {}), "text": split.views["text"]}
    write_model(tmp_path, method, FACTS, Split(["item"], np.zeros((1, 0), bool), views))
    found = read_model(tmp_path).views["speech"].features
    assert (len(found), found.values.shape, found.values.dtype) == (0, (0, 40), np.float16)


def test_a_published_model_has_further_facts(folder, tmp_path):
    publish_model(folder[0], tmp_path / "best", search=[{"validation": 1.0}])
    shutil.rmtree(folder[0])
    assert read_facts(tmp_path / "best") == FACTS | {"search": [{"validation": 1.0}]}
    assert read_model(tmp_path / "best").views["image"].meta == META


@pytest.mark.parametrize("content", [{"plugin": "cca"}, {"format": 0}, []])
def test_a_folder_of_another_version_is_refused(folder, content):
    (folder[0] / "model.json").write_text(json.dumps(content))
    with pytest.raises(CrossmodalError, match=r"model\.json: .* train again"):
        read_model(folder[0])


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
@pytest.mark.parametrize("size", [0, 20, None])
def test_a_missing_or_corrupt_file_is_named(folder, name, size):
    path = folder[0] / name
    content = path.read_bytes()
    path.unlink()
    if size is not None:
        path.write_bytes(content[:size])
    with pytest.raises(CrossmodalError, match=name):
        read_model(folder[0])


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model["fit"]["options"].pop("dims"),
        lambda model: model["fit"].update(plugin="none"),
        lambda model: model["views"][1]["meta"].update(mean={"array": "views/image/none"}),
        lambda model: model["views"][0].pop("dtype"),
    ],
)
def test_a_model_that_does_not_fit_the_code_is_refused(folder, change):
    path = folder[0] / "model.json"
    model = json.loads(path.read_text())
    change(model)
    path.write_text(json.dumps(model))
    with pytest.raises(CrossmodalError, match=r"seed0: .* train again"):
        read_model(folder[0])


def test_models_with_earlier_options_embed_the_same(folder):
    _, _, split = folder
    method = CFA(dims=2, scaling="l2-centre")
    method.fit(split, split, Run(seed=0))
    facts = {"plugin": "cfa", "options": {"dims": 2, "input_norm": "l2"}, "seed": 0}
    write_model(folder[0], method, facts, split)
    fitted = read_model(folder[0])
    assert fitted.facts["options"] == {"dims": 2, "scaling": "l2-centre"}
    view = split.views["image"]
    np.testing.assert_array_equal(fitted.method.embed("image", view), method.embed("image", view))
