import json

import numpy as np
import pytest
import torch
from PIL import Image

from crossmodal.errors import CrossmodalError
from crossmodal.io.bundles import write_bundle
from crossmodal.pretrained.dual_encoder import CONFIG, DualEncoder, _check

open_clip = pytest.importorskip("open_clip")

TEXT = {"context_length": 12, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2}
VISION = {"image_size": 32, "layers": 2, "width": 64, "patch_size": 16}
MODEL = {"embed_dim": 24, "vision_cfg": VISION, "text_cfg": TEXT}
PREPARED = {"size": 32, "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4], "resize_mode": "squash"}
TEXTS = ["a dog", "A red ball, on the grass!", "", "word " * 30]


def made(model):
    """open_clip's model of random weights."""
    torch.manual_seed(0)
    kind = open_clip.CustomTextCLIP if model.get("custom_text") else open_clip.CLIP
    options = {key: value for key, value in model.items() if key != "custom_text"}
    return kind(**json.loads(json.dumps(options))).eval()


def write_model(path, model=MODEL, weights=None, **files):
    config = {"model_cfg": model, "preprocess_cfg": PREPARED}
    state = (weights or made(model)).state_dict()
    write_bundle(path, state, {CONFIG: json.dumps(config)} | files, {"licence": "MIT"})
    return path


def picture(seed=0, size=(50, 40)):
    pixels = np.random.default_rng(seed).integers(0, 256, (*size[::-1], 3), dtype=np.uint8)
    return Image.fromarray(pixels)


@pytest.fixture
def encoder(tmp_path):
    return DualEncoder(write_model(tmp_path / "b.safetensors"))


@torch.inference_mode()
def test_vectors_are_open_clips(encoder):
    model = made(MODEL)
    pixels = encoder.pixels([picture(), picture(1)])
    expected = model.encode_image(pixels)
    found = encoder.encode_images(pixels)
    torch.testing.assert_close(found, expected / expected.norm(dim=1, keepdim=True))
    tokens = open_clip.SimpleTokenizer(context_length=12)(TEXTS)
    expected = model.encode_text(tokens)
    found = encoder.encode_texts(TEXTS, torch.device("cpu"))
    torch.testing.assert_close(found, expected / expected.norm(dim=1, keepdim=True))
    assert encoder.width == found.shape[1] == 24


def test_images_are_prepared_as_the_file_says(encoder):
    image = picture()
    squashed = np.asarray(image.resize((32, 32), Image.Resampling.BICUBIC)) / 255
    expected = (squashed - PREPARED["mean"]) / PREPARED["std"]
    found = encoder.pixels([image])
    np.testing.assert_allclose(found[0].permute(1, 2, 0), expected, atol=1e-5)


def test_sigmoid_loss_model_other_pooling_and_bias(tmp_path):
    """As SigLIP is laid out, with open_clip's own tokenizer."""
    siglip = MODEL | {"custom_text": True, "init_logit_bias": -10.0}
    siglip["text_cfg"] = TEXT | {"no_causal_mask": True, "pool_type": "last", "proj_bias": True}
    encoder = DualEncoder(write_model(tmp_path / "b.safetensors", siglip))
    assert encoder.model.logit_bias.item() == -10
    found = encoder.encode_texts(TEXTS[:2], torch.device("cpu"))
    torch.testing.assert_close(found.norm(dim=1), torch.ones(2))


def test_a_tokenizer_of_the_file_is_read(tmp_path):
    pytest.importorskip("transformers")
    from tests.pretrained.test_sentence_transformer import WORDS, tokenizer_json

    model = MODEL | {"custom_text": True}
    kwargs = {"clean": "canonicalize"}
    model["text_cfg"] = TEXT | {"hf_tokenizer_name": "nobody/nothing", "tokenizer_kwargs": kwargs}
    special = {"pad_token": "[PAD]", "tokenizer_class": "PreTrainedTokenizerFast"}
    files = {"tokenizer.json": tokenizer_json(), "tokenizer_config.json": json.dumps(special)}
    weights = made(MODEL | {"custom_text": True})
    encoder = DualEncoder(write_model(tmp_path / "b.safetensors", model, weights, **files))
    (found,) = encoder._tokenizer(["a red dog!"])
    assert [WORDS[i] for i in found[:5]] == ["[CLS]", "a", "red", "dog", "[SEP]"]
    with pytest.raises(CrossmodalError, match=r"b\.safetensors: has no tokenizer\.json"):
        DualEncoder(write_model(tmp_path / "b.safetensors", model, weights))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ({"hf_model_name": "xlm-roberta-base"}, "text encoder is xlm-roberta-base of another"),
        ({"tokenizer_kwargs": {"trust_remote_code": True}}, "trust_remote_code, which is refused"),
        ({"width": 18}, "weights do not fit"),
        ({"heads": 5}, "open_clip cannot build"),
    ],
)
def test_what_cannot_be_read_or_is_not_safe_is_refused(tmp_path, text, message):
    model = MODEL | {"text_cfg": TEXT | text}
    path = write_model(tmp_path / "b.safetensors", model, made(MODEL))
    with pytest.raises(CrossmodalError, match=rf"b\.safetensors: .*{message}"):
        DualEncoder(path)


def test_a_file_without_a_configuration_is_refused(tmp_path):
    write_bundle(tmp_path / "b.safetensors", {"a": torch.zeros(1)}, {}, {})
    with pytest.raises(CrossmodalError, match=r"b\.safetensors: has no open_clip_config\.json"):
        DualEncoder(tmp_path / "b.safetensors")


@pytest.mark.parametrize("name", ["hf-hub:me/mine", "local-dir:/etc"])
def test_an_image_encoder_of_another_place_is_refused(tmp_path, name):
    config = {"model_cfg": {"vision_cfg": {"timm_model_name": name}, "text_cfg": {}}}
    with pytest.raises(CrossmodalError, match=rf"its image encoder is {name}"):
        _check(tmp_path / "a.safetensors", config, tmp_path)
