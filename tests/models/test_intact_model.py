import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import crossmodal
from crossmodal.config import plugins
from crossmodal.data.split import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.models.model_folder import write_model
from tests.methods.test_sam import OPTIONS as SAM

CCA = {"dims": 2, "ridge": 0.1, "power": 1.0}


@pytest.fixture
def fit(rng, tmp_path):
    """Returns the folder of a model of images and texts."""
    ids, rows = [str(row) for row in range(30)], np.arange(30)
    views = {m: View(rng.random((30, d)), rows, ids, {}) for m, d in (("image", 3), ("text", 4))}
    split = Split(ids, rows[:, None] % 3 == np.arange(3), views, ("a", "b", "c"))

    def fit(name, options):
        method = plugins.make("methods", name, options, "options")
        method.fit(split, split, Run(seed=0))
        write_model(tmp_path, method, {"plugin": name, "options": options}, split)
        return tmp_path

    return fit


def change_description(folder, change):
    path = folder / "model.json"
    model = json.loads(path.read_text())
    change(model)
    path.write_text(json.dumps(model))


@pytest.mark.parametrize(("name", "options"), [("cca", CCA), ("sam", SAM)])
def test_a_model_as_it_was_written_is_loaded(fit, rng, name, options):
    model = crossmodal.load(fit(name, options))
    assert model.embed_features("text", rng.random((2, 4))).shape[0] == 2


@pytest.mark.parametrize(
    "meta",
    [
        {"vocabulary": ["a", 5]},
        {"vocabulary": float("nan")},
        {"extractor": {"language": [["de"]]}},
        {"sources": {"tokens": {"vocabulary": [None]}}},
    ],
)
def test_words_and_languages_that_are_no_texts_are_refused(fit, meta):
    folder = fit("cca", CCA)
    change_description(folder, lambda model: model["views"][1].update(meta=meta))
    with pytest.raises(CrossmodalError, match="parts of the model do not fit together"):
        crossmodal.load(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model["fit"]["options"].update(hidden=400_000),
        lambda model: model["views"][0].update(shape=[1 << 33]),
    ],
)
def test_a_network_larger_than_its_tensors_is_not_built(fit, change):
    folder = fit("sam", SAM)
    change_description(folder, change)
    with pytest.raises(CrossmodalError, match=r"options ask for [\d,]+ numbers or more"):
        crossmodal.load(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda views: views[0].update(modality=5), r"its views are \[5, 'text'\]"),
        (lambda views: views[0].update(modality="text"), r"its views are \['text'\]"),
        (lambda views: views.pop(), r"its views are \['image'\]"),
        (lambda views: views[0].update(shape=[1 << 40]), "rows of image are 1,099,511,627,776"),
        (lambda views: views[0].update(shape=[7]), "do not fit together"),
        (lambda views: views[0].update(dtype="U5"), "values of <U5"),
    ],
)
def test_views_that_do_not_fit_the_model_are_refused(fit, change, message):
    folder = fit("cca", CCA)
    change_description(folder, lambda model: change(model["views"]))
    with pytest.raises(CrossmodalError, match=f"{folder}: .*{message}"):
        crossmodal.load(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.pop("map.text"),
        lambda tensors: tensors.update({"map.text": tensors["map.text"].T.copy()}),
        lambda tensors: tensors.update({"map.text": tensors["map.text"][:, :1].copy()}),
        lambda tensors: tensors.update({"mean.image": tensors["mean.image"][:2]}),
        lambda tensors: tensors.update({"mean.image": tensors["mean.image"][:0]}),
        lambda tensors: tensors.update({"mean.image": tensors["mean.image"] * np.nan}),
    ],
)
def test_damaged_tensors_are_refused_with_their_folder(fit, change):
    folder = fit("cca", CCA)
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(CrossmodalError, match=f"{folder}: the parts of the model do not fit"):
        crossmodal.load(folder)
