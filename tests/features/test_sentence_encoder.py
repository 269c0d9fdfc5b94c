import json

import numpy as np
import pytest

pytest.importorskip("transformers")

from crossmodal.data.own_items import OwnItems
from crossmodal.data.prepared import Caption, Item
from crossmodal.features.sentence_encoder import SentenceEncoder
from tests.pretrained.test_sentence_transformer import TEXTS, WORDS, write_model

pytestmark = pytest.mark.usefixtures("cpu")


class Described:
    """Items with zero, one and two captions."""

    def __init__(self):
        texts = {"none": [], "one": ["a dog"], "two": ["a red dog", "grass"]}
        self.items = [Item(id, "", (), "") for id in texts]
        self.captions_of = {
            id: [Caption(f"{id}#{n}", id, text, "") for n, text in enumerate(said)]
            for id, said in texts.items()
        }


@pytest.fixture
def made(tmp_path):
    """Makes features of a tiny encoder."""

    def make(unit="caption", **changes):
        feature = SentenceEncoder(weights="tiny.safetensors", unit=unit)
        feature.setup(write_model(tmp_path / feature.weights, **changes))
        return feature

    return make


def extracted(feature, texts):
    own = OwnItems(texts=texts)
    return feature.extract(own, feature.rows(own), {})


def test_a_caption_is_its_vector_whatever_stands_beside_it(made):
    rng, feature = np.random.default_rng(0), made()
    texts = [*filter(None, TEXTS)]
    texts += [" ".join(rng.choice(WORDS[4:], n)) for n in rng.integers(1, 9, 60)]
    found = extracted(feature, texts)
    assert found.dtype == np.float32
    alone = np.concatenate([extracted(feature, [text]) for text in texts])
    np.testing.assert_allclose(found, alone, atol=1e-5)
    feature.threads = 1
    np.testing.assert_array_equal(extracted(feature, texts), found)


def test_a_word_without_a_token_is_unknown(made):
    special = {"unk_token": "[UNK]", "tokenizer_class": "PreTrainedTokenizerFast"}
    feature = made(**{"tokenizer_config.json": json.dumps(special | {"pad_token": "[PAD]"})})
    assert feature.words("A zebra runs!") == {"a": True, "zebra": False, "runs": True}
    assert feature.words("🐶 ?") == {"🐶": False, "?": False}
    assert feature.words(" ") == {}


def test_an_item_is_the_mean_of_its_captions(made):
    dataset, feature = Described(), made("item")
    found = feature.extract(dataset, dataset.items, {})
    dog, *two = extracted(made(), ["a dog", "a red dog", "grass"])
    expected = np.stack([0 * dog, dog, np.mean(two, axis=0)])
    expected[2] /= np.linalg.norm(expected[2])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    plain = made("item", modules=["Transformer", "Pooling"])
    two = plain.encoder.encode(plain.encoder.tokens(["a red dog", "grass"])).numpy()
    found = plain.extract(dataset, dataset.items, {})
    np.testing.assert_allclose(found[2], two.mean(0), atol=1e-5)


def test_it_says_what_it_was_made_with(made):
    learnt = made().learnt()
    assert learnt["weights"] == "tiny.safetensors"
    assert len(learnt["sha256"]) == 64
