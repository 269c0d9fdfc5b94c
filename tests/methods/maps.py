"""Small splits of images as maps, with written captions."""

import numpy as np

from crossmodal.data.feature_file import Ragged

CHANNELS, WORDS, EOS = 7, 30, 2


def captioned_maps(make_split, rng, count=20, captions=2):
    """Random maps of 3 x 2 positions, with random captions of 3 to 9 words and the end token."""
    lengths = rng.integers(3, 10, count * captions)
    words = [np.append(rng.integers(4, WORDS, length), EOS) for length in lengths]
    maps = rng.standard_normal((count, CHANNELS, 3, 2)).astype(np.float16)
    views = {"image": maps, "text": Ragged.concatenate(words)}
    return make_split(views, vocabulary=[str(word) for word in range(WORDS)])
