"""Features of items that are in no dataset are those that the pipeline extracts of them."""

import io
import json
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile
from PIL import Image
from safetensors.torch import save_file

from crossmodal.config import plugins
from crossmodal.data.feature_file import FeatureFile, Ragged
from crossmodal.data.feature_reader import read_features
from crossmodal.data.own_items import OwnItems
from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.pretrained import wav2vec2
from crossmodal.pretrained.backbones import random_network
from crossmodal.steps.extract import extract
from crossmodal.workflow.specs import ExtractSpec
from tests.pretrained.test_wav2vec2 import tiny

NEW = slice(20, 25)  # of the 25 items
BACKBONE = {
    "backbone": "squeezenet1_1",
    "weights": "mine.safetensors",
    "resize": "short",
    "seed": 0,
}
THRESHOLDS = {"positive": 0.15, "negative": -0.25}
BOW = {"size": 9, "stop_words": True}
TOKENS = {"fit_on": ["train"], "min_count": 2, "bos": True}
MIXTURES = {
    "word_dims": 3,
    "window": 2,
    "mixtures": ["gaussian", "hybrid"],
    "components": 2,
    "iterations": 20,
    "seed": 0,
}
TRANSFORMER = {
    "network": "wav2vec2_base",
    "weights": "random",
    "layers": [2],
    "seconds": 1.0,
    "seed": 0,
}
FEATURES = {
    "activations": ("activations", BACKBONE | {"crops": 1, "layers": "all"}),
    "blocks": (
        "activations",
        BACKBONE
        | {"backbone": "timm/test_convnext", "weights": "random"}
        | {"crops": 1, "layers": "blocks"},
    ),
    "fc7": ("fc7", {"activations": "activations", "normalise": True}),
    "fne": ("fne", {"activations": "activations", "thresholds": THRESHOLDS, "clip": None}),
    "maps": ("maps", BACKBONE | {"layers": "last", "side": 2}),
    "pictures": ("pictures", {}),
    "counts": ("bow", BOW | {"weighting": "counts", "unit": "item"}),
    "tfidf": ("bow", BOW | {"weighting": "tfidf", "unit": "caption"}),
    "tokens": ("tokens", TOKENS),
    "fisher": ("fisher_vectors", TOKENS | MIXTURES),
    "logmel": ("logmel", {"kind": "logmel", "frames": 50}),
    "mfcc": ("logmel", {"kind": "mfcc", "frames": 2048}),
    "transformer": ("speech_transformer", TRANSFORMER | {"rows": "vector"}),
    "heard": ("speech_transformer", TRANSFORMER | {"rows": "sequence"}),
    "statistics": ("logmel_statistics", {"kind": "logmel", "frames": 2048, "parts": 4}),
}


if find_spec("transformers"):
    FEATURES |= {
        "sentence": ("sentence_encoder", {"weights": "tiny.safetensors", "unit": "item"}),
        "encoder": ("speech_encoder", {"weights": "wavlm.safetensors", "rows": "statistics"}),
    }
if find_spec("open_clip"):
    FEATURES |= {
        "clip_image": ("clip_image", {"weights": "clip.safetensors"}),
        "clip_text": ("clip_text", {"weights": "clip.safetensors", "unit": "caption"}),
    }
# what other rows of a batch change, of networks that read several at once
TOLERANCE = dict.fromkeys(("blocks", "sentence", "clip_image", "clip_text"), 1e-5)


def image(rng):
    stream = io.BytesIO()
    Image.fromarray(rng.integers(256, size=(30, 40, 3), dtype=np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def clip(rng):
    stream = io.BytesIO()
    soundfile.write(stream, rng.normal(0, 0.1, 9_000).clip(-1, 1), 22_050, format="FLAC")
    return stream.getvalue()


def made(name):
    return plugins.make("features", *FEATURES[name], f"features.{name}")


@pytest.fixture(scope="module", autouse=True)
def small():
    """Networks of speech of the smallest size."""
    with pytest.MonkeyPatch.context() as patch:
        facts = SimpleNamespace(_params=tiny(), _normalize_waveform=True)
        patch.setattr(wav2vec2, "pipeline", lambda name: facts)
        yield


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with a prepared dataset, weights, and feature files made by the pipeline."""
    folder, rng = tmp_path_factory.mktemp("project"), np.random.default_rng(0)
    with Writer(folder / "data") as out:
        for number in range(25):
            out.item(f"i{number}", "test" if number >= 20 else "train", "", (), image(rng), ".png")
            text = " ".join(rng.choice(["Dog", "cat", "red", "ball's", "house", "of", "sea"], 6))
            out.caption(f"i{number}#0", f"i{number}", text, clip(rng), ".flac")
    (folder / "weights").mkdir()
    network = random_network("squeezenet1_1", seed=1)
    save_file(network.state_dict(), folder / "weights" / BACKBONE["weights"])
    if find_spec("transformers"):
        from tests.pretrained import test_frame_encoder, test_sentence_transformer

        test_sentence_transformer.write_model(folder / "weights" / "tiny.safetensors")
        test_frame_encoder.write_model(folder / "weights" / "wavlm.safetensors", "wavlm")
    if find_spec("open_clip"):
        from tests.pretrained import test_dual_encoder

        test_dual_encoder.write_model(folder / "weights" / "clip.safetensors")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("torch.cuda.is_available", lambda: False)
        for name, (plugin, options) in FEATURES.items():
            spec = ExtractSpec(plugin=plugin, options=options)
            where = Path("features") / f"{name}.h5"
            extract(spec, where, folder / "data", folder / "features", folder / "weights")
    return folder


def new_items(project, modality):
    dataset = Prepared(project / "data")
    items, captions = dataset.items[NEW], dataset.captions[NEW]
    return {
        "image": lambda: OwnItems(images=[dataset.read(item.image) for item in items]),
        "text": lambda: OwnItems(texts=[caption.text for caption in captions]),
        "speech": lambda: OwnItems(speech=[dataset.read(caption.audio) for caption in captions]),
    }[modality]()


def restored(project, name):
    """A fresh plug-in with what a feature file says was learnt."""
    feature = made(name)
    feature.setup(project / "weights" / feature.weights if feature.weights else None)
    learnt = read_features(project / "features" / f"{name}.h5").meta
    feature.restore(json.loads(json.dumps(learnt)))
    return feature


def rows_of(project, name):
    feature = restored(project, name)
    items = new_items(project, feature.modality)
    sources = {
        of: FeatureFile([], [], rows_of(project, of), restored(project, of).learnt())
        for of in feature.of
    }
    rows = feature.rows(items)
    assert [row.id for row in rows] == [item.id for item in items.items]
    return feature.extract(items, rows, sources)


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize("name", FEATURES)
def test_rows_of_new_items_are_the_pipelines(project, name):
    found = rows_of(project, name)
    expected = read_features(project / "features" / f"{name}.h5").features
    assert len(found) == 5
    for row, value in zip(range(20, 25), found, strict=True):
        assert value.dtype == (expected.values if isinstance(expected, Ragged) else expected).dtype
        np.testing.assert_allclose(value, expected[row], rtol=0, atol=TOLERANCE.get(name, 0))


def test_every_feature_is_tested_but_those_of_known_items():
    tested = {plugin for plugin, _ in FEATURES.values()}
    tested |= set() if find_spec("transformers") else {"sentence_encoder", "speech_encoder"}
    tested |= set() if find_spec("open_clip") else {"clip_image", "clip_text"}
    # the times of words belong to clips
    tested |= {"published", "array", "spoken_words"}
    assert tested == {*plugins.names("features")}


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize("name", FEATURES)
def test_what_is_restored_is_what_was_learnt(project, name):
    learnt = restored(project, name).learnt()
    stored = read_features(project / "features" / f"{name}.h5").meta
    assert json.loads(json.dumps(learnt)).items() <= stored.items()


@pytest.mark.usefixtures("cpu")
def test_other_weights_are_named(project, tmp_path):
    save_file(random_network("squeezenet1_1", seed=2).state_dict(), tmp_path / "w.safetensors")
    feature = made("maps")
    feature.setup(tmp_path / "w.safetensors")
    learnt = read_features(project / "features" / "maps.h5").meta
    with pytest.raises(CrossmodalError, match=r"w\.safetensors: SHA-256 .* mine\.safetensors"):
        feature.restore(learnt)


def test_published_features_exist_for_their_dataset_alone():
    feature = plugins.make("features", "published", {"matrix": "sift", "modality": "image"}, "f")
    with pytest.raises(CrossmodalError, match="'sift': cannot be computed for new items"):
        feature.restore({})


@pytest.mark.parametrize("name", ["tokens", "logmel", "pictures"])
def test_a_feature_of_another_modality_is_refused(name):
    own = OwnItems(texts=["a dog"]) if name == "pictures" else OwnItems(images=[b"image"])
    feature = made(name)
    with pytest.raises(CrossmodalError, match=f"^{own.name}: "):
        feature.extract(own, feature.rows(own), {})


@pytest.mark.parametrize(("name", "kind"), [("pictures", "images"), ("logmel", "speech")])
def test_a_corrupt_entry_is_named(name, kind):
    own, feature = OwnItems(**{kind: [b"nothing"]}), made(name)
    with pytest.raises(CrossmodalError, match=rf"^{kind}\[0\]: .*replace"):
        feature.extract(own, feature.rows(own), {})
