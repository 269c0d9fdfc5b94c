"""Small splits of images as maps, with written captions or with words of speech."""

from itertools import combinations

import numpy as np

from crossmodal.data.feature_file import Ragged

CHANNELS, WORDS, EOS = 7, 30, 2
BINS, VOCABULARY = 6, 8


def captioned_maps(make_split, rng, count=20, captions=2):
    """Random maps of 3 x 2 positions, with random captions of 3 to 9 words and the end token."""
    lengths = rng.integers(3, 10, count * captions)
    words = [np.append(rng.integers(4, WORDS, length), EOS) for length in lengths]
    maps = rng.standard_normal((count, CHANNELS, 3, 2)).astype(np.float16)
    views = {"image": maps, "text": Ragged.concatenate(words)}
    return make_split(views, vocabulary=[str(word) for word in range(WORDS)])


def spoken_maps(make_split, rng, count=20, captions=2):
    """Random maps of 3 x 2 positions, with clips of two words of the same sounds each."""
    sounds = rng.uniform(-80, 0, (VOCABULARY + 1, BINS))
    pairs = rng.permutation([*combinations(range(VOCABULARY + 1), 2)])  # none occurs again
    numbers = np.resize(pairs, (count * captions, 2))
    clips = Ragged.concatenate(clip_of_words(rng, sounds, pair) for pair in numbers)
    maps = rng.standard_normal((count, CHANNELS, 3, 2)).astype(np.float16)
    views = {"image": maps, "speech": clips}
    return make_split(views, vocabulary=[f"word{number}" for number in range(VOCABULARY)])


def clip_of_words(rng, sounds, numbers):
    """Words as they sound, with some noise, each of 3 to 6 frames; see `spoken_words`."""
    lengths = rng.integers(3, 7, len(numbers))
    frames = [
        sounds[number] + rng.normal(0, 2, (length, BINS))
        for number, length in zip(numbers, lengths, strict=True)
    ]
    places = np.concatenate([np.arange(length) for length in lengths])
    columns = np.concatenate(frames), places, np.repeat(numbers, lengths)
    return np.column_stack(columns).astype(np.float16)
