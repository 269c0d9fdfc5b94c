"""Small splits of images with written captions."""

import numpy as np

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from tests.methods import spoken

WIDTH, WORDS, EOS = 20, 30, 2
PAIR = ("image", "text")


def random_captions(make_split, seed, count=40, captions=5):
    """A split of random images with random captions of 3 to 9 words and the end token."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, 10, count * captions)
    words = [np.append(rng.integers(4, WORDS, length), EOS) for length in lengths]
    images = rng.standard_normal((count, WIDTH)).astype(np.float32)
    views = {"image": images, "text": Ragged.concatenate(words)}
    return make_split(views, vocabulary=[str(word) for word in range(WORDS)])


def embedded(method, split):
    """Embeddings of both sides of a split."""
    return [method.embed(modality, split.views[modality]) for modality in PAIR]


def captioned_files(rng):
    """Five image files of as good as one colour each; nine captions, each of a word, repeated."""
    owners, ids = spoken.OWNERS, [f"caption{row}" for row in range(len(spoken.OWNERS))]
    lengths, vocabulary = rng.integers(1, 9, len(owners)), ["word"] * spoken.WORDS
    captions = Ragged.concatenate(np.full(n, word) for word, n in enumerate(lengths, 1))
    views = {
        "image": View(spoken.image_files(rng, 5), np.arange(5), [*"abcde"], {}),
        "text": View(captions, owners, ids, {"vocabulary": vocabulary}),
    }
    return Split([*"abcde"], np.zeros((5, 0), bool), views)
