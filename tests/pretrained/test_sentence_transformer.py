import json

import pytest
import torch

pytest.importorskip("transformers")
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel

from crossmodal.errors import CrossmodalError
from crossmodal.io.bundles import write_bundle
from crossmodal.pretrained.sentence_transformer import OFFICIAL, SentenceTransformer

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "dog", "runs", "on", "grass", "red"]
TEXTS = ["a dog", "a red dog runs on a red grass", "", "nobody knows"]
CONFIG = {
    "vocab_size": len(WORDS),
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 20,
    "max_position_embeddings": 16,
}
BERT = CONFIG | {"model_type": "bert"}
TYPES = "sentence_transformers.models."


def tokenizer_json():
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    template = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.post_processor = template
    return tokenizer.to_str()


def network():
    torch.manual_seed(0)
    return BertModel(BertConfig(**CONFIG)).eval()


def write_model(path, modules=("Transformer", "Pooling", "Normalize"), mode="mean_tokens", **files):
    """A bundle of a network of random weights."""
    said = [{"type": TYPES + name, "path": f"{n}_{name}"} for n, name in enumerate(modules)]
    special = {"pad_token": "[PAD]", "tokenizer_class": "PreTrainedTokenizerFast"}
    known = {
        "config.json": json.dumps(BERT),
        "tokenizer.json": tokenizer_json(),
        "tokenizer_config.json": json.dumps(special),
        "modules.json": json.dumps(said),
        "1_Pooling/config.json": json.dumps({f"pooling_mode_{mode}": True}),
    }
    write_bundle(path, network().state_dict(), known | files, {"licence": "MIT"})
    return path


@torch.inference_mode()
def states(text):
    """States (t, width) of the tokens of a text, alone."""
    ids = [2, *(WORDS.index(w) if w in WORDS else 1 for w in text.split()), 3]
    return network()(torch.tensor([ids])).last_hidden_state[0]


@pytest.mark.parametrize(
    ("mode", "pool"),
    [
        ("mean_tokens", lambda h: h.mean(0)),
        ("cls_token", lambda h: h[0]),
        ("max_tokens", lambda h: h.max(0).values),
    ],
)
@pytest.mark.parametrize("normalised", [False, True])
def test_vectors_are_pooled_as_the_bundle_says(tmp_path, mode, pool, normalised):
    modules = ["Transformer", "Pooling", *(["Normalize"] if normalised else [])]
    encoder = SentenceTransformer(write_model(tmp_path / "b.safetensors", modules, mode))
    found = encoder.encode(encoder.tokens(TEXTS))
    expected = torch.stack([pool(states(text)) for text in TEXTS])
    if normalised:
        expected /= expected.norm(dim=1, keepdim=True)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_long_texts_are_cut(tmp_path):
    files = {"sentence_bert_config.json": json.dumps({"max_seq_length": 5})}
    encoder = SentenceTransformer(write_model(tmp_path / "b.safetensors", **files))
    assert encoder.tokens(["a dog runs on grass"]) == [[2, 4, 5, 6, 3]]
    assert SentenceTransformer(write_model(tmp_path / "c.safetensors")).longest == 16


def test_without_a_pooling_the_mean_is_taken(tmp_path):
    encoder = SentenceTransformer(write_model(tmp_path / "b.safetensors", ["Transformer"]))
    assert (encoder.pooling, encoder.normalised) == ("mean", False)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"modules": ["Transformer", "Pooling", "Dense"]}, "Dense is not supported"),
        ({"mode": "lasttoken"}, "pooling by pooling_mode_lasttoken is not supported"),
        ({"config.json": json.dumps(CONFIG)}, "transformers cannot build this model"),
        ({"config.json": json.dumps(BERT | {"hidden_size": 24})}, "weights do not fit"),
        ({"config.json": json.dumps(BERT | {"num_hidden_layers": 3})}, "weights do not fit"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, changes, message):
    path = write_model(tmp_path / "b.safetensors", **changes)
    with pytest.raises(CrossmodalError, match=rf"b\.safetensors: .*{message}"):
        SentenceTransformer(path)


def test_no_code_of_a_model_is_run(tmp_path):
    remote = CONFIG | {"model_type": "mine", "auto_map": {"AutoConfig": "evil.Config"}}
    files = {"config.json": json.dumps(remote), "evil.py": "raise SystemExit"}
    path = write_model(tmp_path / "b.safetensors", **files)
    with pytest.raises(CrossmodalError, match="transformers cannot build this model"):
        SentenceTransformer(path)


def test_the_published_encoder_knows_what_is_alike(tmp_path):
    name, published = next(iter(OFFICIAL.items()))
    if not published.installed():
        pytest.skip(f"{published.distribution} is not installed")
    published.convert(tmp_path / name)
    encoder = SentenceTransformer(tmp_path / name)
    assert (encoder.pooling, encoder.normalised, encoder.longest) == ("mean", True, 256)
    found = encoder.encode(encoder.tokens(["A man rides a bike.", "A cyclist.", "Tax law."]))
    assert found.shape == (3, 384)
    assert found[0] @ found[1] > 0.5 > 0.2 > found[0] @ found[2]
