"""A model folder stands alone: what it makes of items is what the pipeline makes of them."""

import io
import json
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile
import torch
from PIL import Image
from safetensors.torch import save_file

import crossmodal
from crossmodal.config.fit import non_defaults
from crossmodal.data.feature_reader import read_features
from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.models.embedding_file import read_embeddings
from crossmodal.pretrained.backbones import random_network
from crossmodal.steps.embed import embed
from crossmodal.steps.extract import extract
from crossmodal.steps.train import train
from crossmodal.workflow.specs import EmbedSpec, ExtractSpec, TrainSpec
from tests.methods import test_cmolrs, test_matchmap, test_multimodal_embedding, test_sam, test_vase

RATE = 16_000
SPLITS = ["train"] * 12 + ["validation"] * 6 + ["test"] * 6
WORDS = ["red", "blue", "green", "a", "big", "small", "circle", "square", "on", "the", "left"]
WEIGHTS = "mine.safetensors"
NETWORK = {"backbone": "squeezenet1_1", "weights": WEIGHTS, "resize": "warp", "seed": 0}
LAYERS = {"crops": 1, "layers": "all"}
RANDOM = NETWORK | {"weights": "random"}
CODES = {"thresholds": {"positive": 0.15, "negative": -0.25}, "clip": None}
FEATURES = {
    "layers": ("activations", NETWORK | LAYERS),
    "random_layers": ("activations", RANDOM | LAYERS),
    "fc7": ("fc7", {"activations": "layers", "normalise": True}),
    "fne": ("fne", {"activations": "random_layers", **CODES}),
    "maps": ("maps", NETWORK | {"layers": "last", "side": 3}),
    "pictures": ("pictures", {}),
    "matrix": ("published", {"matrix": "matrix", "modality": "image"}),
    "bow": ("bow", {"size": 30, "weighting": "tfidf", "unit": "item", "stop_words": False}),
    "tokens": (
        "tokens",
        {"fit_on": ["train"], "min_count": 1, "bos": True},
    ),
    "logmel": ("logmel", {"kind": "logmel", "frames": 64}),
}
CCA = {"dims": 3, "ridge": 0.1, "power": 1.0}
SAM = test_sam.OPTIONS | {"epochs": 2}
SPOKEN = {"batch": 8, "epochs": 1}
VASE = test_vase.SMALL | SPOKEN
MATCHMAP = test_matchmap.SMALL | SPOKEN
FILES = {
    "image_network": "squeezenet1_1",
    "image_weights": "random",
    "finetuning_rate": 1e-4,
    "finetuning_epochs": 1,
}
SPEECH = {"image": "fc7", "speech": "logmel"}
MODELS = {
    "cca": ("cca", {"image": "fne", "text": "bow"}, CCA),
    "cca_published": ("cca", {"image": "matrix", "text": "bow"}, CCA),
    "sam": ("sam", {"image": "fc7", "text": "bow"}, SAM),
    "cmolrs": (
        "cmolrs",
        {"text": "bow", "image": "fc7"},
        test_cmolrs.OPTIONS | {"triplets": 100},
    ),
    "order": (
        "multimodal_embedding",
        {"image": "fne", "text": "tokens"},
        test_multimodal_embedding.OPTIONS | test_multimodal_embedding.ORDER,
    ),
    "vase": ("vase", SPEECH | {"text": "tokens"}, VASE),
    "vase_files": ("vase", SPEECH | {"image": "pictures"}, VASE | FILES),
    "misa": ("matchmap", SPEECH | {"image": "maps"}, MATCHMAP | {"similarity": "misa"}),
    "sima": ("matchmap", SPEECH | {"image": "maps"}, MATCHMAP | {"similarity": "sima"}),
    "sisa": ("matchmap", SPEECH, MATCHMAP | {"similarity": "sisa", "image_kernel": 1}),
}
ARGUMENTS = {"image": "images", "text": "texts", "speech": "speech"}


def png(pixels):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def flac(samples):
    stream = io.BytesIO()
    soundfile.write(stream, samples, RATE, format="FLAC")
    return stream.getvalue()


def write_dataset(folder):
    """Images of noise on a colour, two captions each, as text and as clips of 0.1 to 0.5 s."""
    rng = np.random.default_rng(0)
    with Writer(folder) as out:
        for item, split in enumerate(SPLITS):
            pixels = rng.integers(0, 150, 3) + rng.integers(0, 100, (40, 50, 3))
            image = png(pixels.astype(np.uint8))
            out.item(f"item{item}", split, f"category{item % 3}", image=image, suffix=".png")
            for caption in range(2):
                text = " ".join(rng.choice(WORDS, rng.integers(2, 9)))
                clip = flac(0.1 * rng.standard_normal(rng.integers(1_600, 8_000)))
                out.caption(f"item{item}#{caption}", f"item{item}", text, clip, ".flac")
        out.published("matrix", rng.standard_normal((len(SPLITS), 5)))


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    """All models."""
    yield from make_studio(tmp_path_factory.mktemp("studio"), MODELS)


def make_studio(root, models, names=tuple(FEATURES)):
    """A dataset with some of its features and some models, made by the steps."""
    dataset, features, weights = (root / name for name in ("prepared", "features", "weights"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setattr(torch.cuda, "is_available", lambda: False)
        write_dataset(dataset)
        weights.mkdir()
        save_file(random_network("squeezenet1_1", seed=1).state_dict(), weights / WEIGHTS)
        for name in names:
            plugin, options = FEATURES[name]
            spec = ExtractSpec(plugin=plugin, options=options)
            extract(spec, features / f"{name}.h5", dataset, features, weights)
        for name, (plugin, views, options) in models.items():
            spec = EmbedSpec(views=views, relevance="category")
            fit = TrainSpec(plugin=plugin, options=options, search={}, **non_defaults(spec))
            model = root / "models" / name / "model.safetensors"
            train(fit, model, dataset, features, weights, seed=0)
            embed(spec, root / f"{name}.h5", dataset, features, model)
        yield SimpleNamespace(root=root, dataset=Prepared(dataset), features=features)


@pytest.fixture
def load(studio, tmp_path, monkeypatch):
    """Load a copy of a model in an empty folder; of the pipeline it has only the weights."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    shutil.copytree(studio.root / "weights", "data/raw/weights")

    def load(name):
        shutil.copytree(studio.root / "models" / name, "copy")
        return crossmodal.load("copy")

    return load


def contents(studio, modality, ids):
    """The encoded media, or the texts, of rows of a view."""
    items = {item.id: item for item in studio.dataset.items}
    captions = {caption.id: caption for caption in studio.dataset.captions}
    if modality == "image":
        return [studio.dataset.read(items[id].image) for id in ids]
    if modality == "speech":
        return [studio.dataset.read(captions[id].audio) for id in ids]
    own = [[c.text for c in captions.values() if id in (c.id, c.item)] for id in ids]
    return [" ".join(texts) for texts in own]


def as_files(found, folder):
    for number, content in enumerate(found):
        (folder / f"{number}").write_bytes(content)
    return [folder / f"{number}" for number in range(len(found))]


def as_objects(found, modality):
    """PIL images, or waveforms with their rates."""
    if modality == "image":
        return [Image.open(io.BytesIO(content)) for content in found]
    return [soundfile.read(io.BytesIO(content), dtype="float32") for content in found]


CASES = [
    (name, modality)
    for name, (_, views, _) in MODELS.items()
    for modality in islice(views, 2)
    if views[modality] != "matrix"
]


@pytest.mark.parametrize(("name", "modality"), CASES)
def test_copied_model_embeds_as_the_pipeline(studio, load, tmp_path, name, modality):
    model, embedded = load(name), read_embeddings(studio.root / f"{name}.h5")
    expected = embedded.splits["test"][modality].embeddings
    found = contents(studio, modality, embedded.ids[modality])
    forms = [found]
    if modality != "text":
        forms += [as_files(found, tmp_path), as_objects(found, modality)]
    for items in forms:
        rows = model.embed(**{ARGUMENTS[modality]: items})
        # networks read images in other batches, whose products round otherwise
        tolerance = 1e-5 if modality == "image" else 0
        np.testing.assert_allclose(rows, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_the_pipeline_in_both_directions(studio, load, name):
    model, embedded = load(name), read_embeddings(studio.root / f"{name}.h5")
    rows = {m: pool.embeddings for m, pool in embedded.splits["test"].items()}
    assert list(model.modalities) == list(rows)
    for query, gallery in embedded.directions():
        found = model.score(rows[query], rows[gallery], direction=(query, gallery))
        np.testing.assert_array_equal(found, embedded.scorer("test", query, gallery)(slice(None)))


def test_an_item_alone_is_embedded_as_among_others(studio, load):
    model = load("misa")
    clips = contents(studio, "speech", [f"item{item}#0" for item in range(5)])
    image = model.embed(images=contents(studio, "image", ["item0"]))
    together = model.score(image, model.embed(speech=clips), ("image", "speech"))
    alone = [model.score(image, model.embed(speech=[c]), ("image", "speech")) for c in clips]
    np.testing.assert_allclose(together, np.concatenate(alone, axis=1), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "modality"), [("cca", "image"), ("cca_published", "image"), ("order", "text")]
)
def test_features_that_are_computed_already_can_be_embedded(studio, load, name, modality):
    feature = read_features(studio.features / f"{MODELS[name][1][modality]}.h5")
    embedded = read_embeddings(studio.root / f"{name}.h5")
    rows = [feature.ids.index(id) for id in embedded.ids[modality]]
    given = [feature.features[row] for row in rows]
    found = load(name).embed_features(modality, given)
    np.testing.assert_array_equal(found, embedded.splits["test"][modality].embeddings)


def test_a_model_tells_its_labels_and_its_fit(load):
    model = load("sam")
    assert model.labels == ("category0", "category1", "category2")
    assert model.facts["plugin"] == "sam"
    assert model.facts["options"] == SAM


IMAGE = png(np.zeros((9, 9, 3), np.uint8))


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("cca", {"speech": [IMAGE]}, "embeds image and text, not speech"),
        ("vase", {"texts": ["a"]}, "embeds image and speech, not text"),
        ("cca", {}, "one of images, texts and speech"),
        ("cca", {"images": [IMAGE], "texts": ["a"]}, "one of images, texts and speech"),
        ("cca", {"images": []}, "at least one"),
        ("cca", {"images": IMAGE}, "list"),
        ("cca", {"images": Image.new("RGB", (8, 8))}, "list"),
        ("cca", {"texts": (text for text in "ab")}, "list"),
        ("cca", {"texts": "a red circle"}, "list"),
        ("cca", {"images": [3]}, r"images\[0\].* of type int; give a path"),
        ("cca", {"images": ["missing.png"]}, r"missing\.png"),
        ("cca", {"images": [b"no image"]}, "image"),
        ("cca", {"texts": [b"bytes"]}, "text"),
        ("order", {"texts": ["a red circle", " "]}, "text"),
        ("vase", {"speech": [b"no speech"]}, "audio"),
        ("vase", {"speech": [np.zeros(100, np.float32)]}, "ndarray"),
        ("cca_published", {"images": [IMAGE]}, "embed_features"),
    ],
)
def test_what_cannot_be_embedded_is_refused(load, name, given, message):
    model = load(name)
    with pytest.raises(CrossmodalError, match=message):
        model.embed(**given)


@pytest.mark.parametrize(
    ("name", "modality", "rows", "message"),
    [
        ("cca", "image", np.zeros((2, 3), np.int8), r"shape \(2, 3\)"),
        ("cca", "image", np.zeros((2, 2816)), "float64"),
        ("cca", "speech", np.zeros((2, 3)), "not speech"),
        ("cca_published", "image", ["a", "b"], "<U1"),
        ("cca", "image", [], "at least one row"),
        ("cca", "image", None, "at least one row"),
        ("cca", "image", (row for row in np.zeros((2, 3))), "at least one row"),
        ("cca", "text", [[0.5, 1.0], [2.0]], "inhomogeneous"),
        ("cca", "text", torch.zeros(2, 3, requires_grad=True), "detach"),
        ("cca_published", "image", np.zeros(5), r"rows of shape \(5,\).* an array of such"),
        ("cca_published", "image", np.full((2, 5), np.nan), "image: row 0 has values that are N"),
        ("cca_published", "image", np.full((2, 5), 1e300), "image: row 0 has values that are N"),
        ("vase", "speech", [np.zeros((7, 13))], r"shape \(7, 13\)"),
        ("vase_files", "image", [3], r"shape \(\)"),
    ],
)
def test_features_that_do_not_suit_are_refused(load, name, modality, rows, message):
    model = load(name)
    with pytest.raises(CrossmodalError, match=message):
        model.embed_features(modality, rows)


@pytest.mark.parametrize("direction", ["text", ("text",), ("text", "image", "text")])
def test_a_direction_that_is_no_two_modalities_is_refused(load, direction):
    with pytest.raises(CrossmodalError, match="name the modalities of query and gallery"):
        load("cca").score(np.ones((2, 5)), np.ones((2, 5)), direction)


@pytest.mark.parametrize("of", [np.ndarray.tolist, torch.tensor])
def test_embeddings_may_be_lists_or_tensors(load, of):
    rows = of(np.eye(2, 5))
    found = load("cca").score(rows, rows, ("text", "image"))
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, np.eye(2))


@pytest.mark.parametrize(
    "queries", [np.zeros((2, 3)), np.zeros(3), [["a"]], np.full((2, 5), np.nan)]
)
def test_rows_that_are_no_embeddings_are_refused(load, queries):
    with pytest.raises(CrossmodalError, match="give what `embed` returns"):
        load("cca").score(queries, np.ones((2, 5)), ("text", "image"))


def test_a_direction_that_the_method_does_not_learn_is_refused(load):
    model, rows = load("sisa"), np.zeros((2, 1, 20), np.float32)
    for direction in [("image", "image"), ("image", "text")]:
        with pytest.raises(CrossmodalError, match="image"):
            model.score(rows, rows, direction)


@pytest.mark.parametrize("name", ["sam", "sisa"])
@pytest.mark.parametrize("present", [True, False])
def test_missing_or_other_weights_are_named(load, name, present):
    model, path = load(name), Path("data/raw/weights") / WEIGHTS
    path.unlink()
    if present:
        save_file(random_network("squeezenet1_1", seed=2).state_dict(), path)
    with pytest.raises(CrossmodalError, match=rf"{path}: {'SHA-256' if present else 'not found'}"):
        model.embed(images=[IMAGE])


def test_weights_may_lie_elsewhere(studio, load, tmp_path):
    load("sam")
    shutil.move("data/raw/weights", tmp_path / "elsewhere")
    found = crossmodal.load("copy", weights=tmp_path / "elsewhere").embed(images=[IMAGE])
    assert found.shape == (1, SAM["dims"])


def test_no_weights_are_needed_for_texts_nor_for_random_networks(load):
    for name in ("cca", "sam"):
        model = load(name)
        shutil.rmtree("data", ignore_errors=True)
        model.embed(texts=["a red circle"])
        if name == "cca":
            model.embed(images=[IMAGE])
        shutil.rmtree("copy")


def test_the_folder_of_an_experiment_is_refused_with_its_models(tmp_path):
    for seed in ("seed0", "seed1"):
        (tmp_path / seed).mkdir()
        (tmp_path / seed / "model.json").write_text("{}")
    with pytest.raises(CrossmodalError, match=r"seed \(seed0, seed1\); name one, as in .*seed0$"):
        crossmodal.load(tmp_path)


def test_public_names_are_listed():
    assert dir(crossmodal) == ["compare", "evaluate", "load"]


def test_importing_the_package_is_light():
    heavy = ("torch", "numpy", "pandas", "snakemake", "dvc")
    code = (
        "import sys, crossmodal; "
        f"light = not {{*{heavy}}} & {{*sys.modules}}; crossmodal.load; "
        "print(light, {'snakemake', 'dvc'} & {*sys.modules})"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True", "set()"]


def test_no_file_of_a_model_is_a_pickle(studio):
    for path in (studio.root / "models").rglob("*.*"):
        assert path.suffix in (".csv", ".json", ".safetensors")
        if path.suffix == ".json":
            json.loads(path.read_text())


@pytest.mark.parametrize("name", ["sam", "order"])
def test_texts_without_a_known_word_are_warned_of(load, name):
    model = load(name)
    with pytest.warns(UserWarning, match="knows no word of 'zebra', '!'; the embeddings"):
        rows = model.embed(texts=["a red circle", "zebra", "a zebra", "!"])
    assert len(rows) == 4
    assert model.words("Zebra on it") == {"zebra": False, "on": True, "it": False}


def test_a_model_without_texts_has_no_words(load):
    with pytest.raises(CrossmodalError, match="embeds image and speech, not text"):
        load("misa").words("a")
