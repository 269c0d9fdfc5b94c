"""A dual encoder beside what is learnt: its names, and the way from a hub to a table's numbers."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save

from crossmodal.commands.init import init
from crossmodal.commands.init_encoder import encoder_named
from crossmodal.config import params
from crossmodal.data.prepared import Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.models.embedding_file import read_embeddings
from crossmodal.vectors import unit_rows
from tests.commands.own_runs import run
from tests.project_params import PATH

pytest.importorskip("open_clip")
import open_clip

from tests.io.test_hub import REPOSITORY, publish  # noqa: F401 - a fixture
from tests.pretrained.test_dual_encoder import CONFIG, MODEL, PREPARED, made, picture

pytestmark = pytest.mark.usefixtures("cpu")
COUNT = 30


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("clip", "laion--CLIP-ViT-B-32-laion2B-s34B-b79K.safetensors"),
        ("siglip", "timm--ViT-B-16-SigLIP.safetensors"),
        ("someone/tiny-clip", "someone--tiny-clip.safetensors"),
        ("someone/tiny-clip@v1.0", "someone--tiny-clip@v1.0.safetensors"),
        ("ViT-B-16:laion2b_s34b_b88k", "laion--CLIP-ViT-B-16-laion2B-s34B-b88K.safetensors"),
        ("ViT-B-16-SigLIP", "timm--ViT-B-16-SigLIP.safetensors"),
    ],
)
def test_an_encoder_may_be_named_in_several_ways(name, file):
    assert encoder_named(name).file == file


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("klip", "'klip' is unknown; did you mean 'clip'"),
        ("ViT-B-61", "did you mean .*'ViT-B-16'"),
        ("ViT-B-16:mine", "has no weights of it on the hub; it has: openai"),
        ("../../etc", "is unknown"),
    ],
)
def test_an_unknown_encoder_is_answered_with_similar_ones(name, message):
    with pytest.raises(CrossmodalError, match=message):
        encoder_named(name)


def test_names_of_open_clip_need_it(monkeypatch):
    monkeypatch.setattr("crossmodal.commands.init_encoder.find_spec", lambda _: None)
    assert encoder_named("clip")
    with pytest.raises(CrossmodalError, match=r"need open_clip: .*\[encoders\]"):
        encoder_named("ViT-B-16")


def test_without_pictures_or_texts_it_is_refused():
    Path("talks").mkdir()
    rows = "".join(f"{n},{n}.wav,words\n" for n in range(12))
    Path("talks/items.csv").write_text(f"id,speech,text\n{rows}", encoding="utf-8")
    with pytest.raises(CrossmodalError, match="--encoder needs the columns image and text"):
        init(Path("talks"), None, False, PATH, "clip")


@pytest.fixture
def hub(publish):  # noqa: F811
    """A hub that has a small model of random weights, in open_clip's layout; the model."""
    model = made(MODEL)
    config = json.dumps({"model_cfg": MODEL, "preprocess_cfg": PREPARED}).encode()
    publish({"open_clip_model.safetensors": save(model.state_dict()), CONFIG: config})
    return model


def photographs(labels):
    for number in range(COUNT):
        path = Path("holiday", labels[number % len(labels)], f"dog {number}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = io.BytesIO()
        picture(number).save(stream, "PNG")
        path.write_bytes(stream.getvalue())
        path.with_suffix(".txt").write_text(f"dog number {number} runs", encoding="utf-8")


def test_the_frozen_encoder_is_a_row_beside_what_is_learnt(hub, capsys):
    photographs(["sea", "alps"])
    init(Path("holiday"), None, False, PATH, REPOSITORY)
    assert f"encoder: {REPOSITORY}; its weights come" in capsys.readouterr().out
    found = params.read(PATH, Path("holiday.yaml"))
    shown = found.tables["holiday"].experiments
    methods = {name: found.experiments[name].method for name in shown}
    assert [*methods.values()] == ["cca", "sam", "frozen", "cca", "ridge", "sam"]
    labels = [found.experiments[name].label for name in shown[2:]]
    learnt = [f"{method} on tiny-model" for method in ("CCA", "Ridge", "SAM")]
    assert labels == ["tiny-model, frozen", *learnt]
    measured = {name: run(found, name)["test"] for name in shown[2:5]}
    assert [*measured] == [f"holiday_encoder_{method}" for method in ("frozen", "cca", "ridge")]
    vectors, embedded = of_open_clip(hub), read_embeddings(Path("embeddings", shown[2], "seed0.h5"))
    for modality, rows in vectors.items():
        np.testing.assert_allclose(embedded.splits["test"][modality].embeddings, rows, atol=1e-5)
    scores = vectors["text"] @ vectors["image"].T
    first = (scores.argmax(axis=1) == np.arange(len(scores))).mean()
    assert measured[shown[2]]["text-to-image"]["R@1"] == pytest.approx(100 * first)
    assert len({values["average"]["mAP"] for values in measured.values()}) == 3


@torch.inference_mode()
def of_open_clip(model):
    """Vectors of the test items, by open_clip itself."""
    items = Prepared("data/prepared/holiday").split("test")
    numbers = [int(item.id.split()[-1]) for item in items]
    squashed = [picture(n).resize((32, 32), Image.Resampling.BICUBIC) for n in numbers]
    pixels = (np.stack(squashed) / 255 - PREPARED["mean"]) / PREPARED["std"]
    images = torch.from_numpy(pixels.astype(np.float32)).permute(0, 3, 1, 2)
    texts = [f"dog number {number} runs" for number in numbers]
    tokens = open_clip.SimpleTokenizer(context_length=12)(texts)
    vectors = {"image": model.encode_image(images), "text": model.encode_text(tokens)}
    return {modality: unit_rows(rows.numpy()) for modality, rows in vectors.items()}
