"""Small splits of images with written captions."""

import numpy as np

from crossmodal.data.feature_file import Ragged

WIDTH, WORDS, EOS = 20, 30, 2


def random_captions(make_split, seed, count=40, captions=5):
    """A split of random images with random captions of 3 to 9 words and the end token."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, 10, count * captions)
    words = [np.append(rng.integers(4, WORDS, length), EOS) for length in lengths]
    images = rng.standard_normal((count, WIDTH)).astype(np.float32)
    views = {"image": images, "text": Ragged.concatenate(words)}
    return make_split(views, vocabulary=[str(word) for word in range(WORDS)])
