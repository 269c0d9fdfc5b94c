import numpy as np
import pytest
import torch

from crossmodal.data.feature_file import Ragged
from crossmodal.nn.word_cnn import SILENCE, WordCNN, Words

pytestmark = pytest.mark.usefixtures("cpu")

LENGTHS, NUMBERS = [[3, 1], [4], [2, 2, 5]], [[2, 0], [1], [1, 1, 3]]
BINS = 6


@pytest.fixture
def clips(rng):
    """Three clips of one to three words."""

    def clip(lengths, numbers):
        frames = rng.uniform(-80, 0, (sum(lengths), BINS))
        places = np.concatenate([np.arange(length) for length in lengths])
        return np.column_stack([frames, places, np.repeat(numbers, lengths)]).astype(np.float16)

    return Ragged.concatenate(map(clip, LENGTHS, NUMBERS))


def test_words_are_told_apart(clips):
    words = Words(clips)
    assert words.numbers.tolist() == [2, 0, 1, 1, 1, 3]
    assert (words.stops - words.starts).tolist() == [3, 1, 4, 2, 2, 5]
    assert words.clips.tolist() == [0, 2, 3, 6]


def test_silence_is_behind_a_word_and_a_long_one_is_cut(clips):
    words = Words(clips)
    padded = words.pad(np.array([1, 5]), 4).numpy()
    np.testing.assert_array_equal(padded[0, 0], clips[0][3, :BINS])
    assert (padded[0, 1:] == SILENCE).all()
    np.testing.assert_array_equal(padded[1], clips[2][4:8, :BINS])


def test_vectors_are_those_of_plain_loops(rng):
    torch.manual_seed(0)
    cnn = WordCNN(7, BINS, 5, 9, 4, 0.5).eval()
    frames = torch.from_numpy(rng.uniform(-80, 0, (2, 7, BINS)).astype(np.float32))
    cnn.norm.running_mean.uniform_(-40, -20)
    cnn.norm.running_var.uniform_(100, 200)
    x = (frames - cnn.norm.running_mean) / (cnn.norm.running_var + cnn.norm.eps).sqrt()
    kernel, bias = cnn.convolution.weight, cnn.convolution.bias  # (filters, bins, 5)
    maps = torch.zeros(2, 5, 7)
    for time in range(7):
        for offset in range(-2, 3):
            if 0 <= time + offset < 7:
                maps[:, :, time] += x[:, time + offset] @ kernel[:, :, offset + 2].T
    maps = (maps + bias[:, None]).relu()
    pooled = torch.stack([maps[:, :, s : s + 3].amax(2) for s in (0, 3, 6)], 2)
    first, _, _, second, _ = cnn.hidden
    expected = second(first(pooled.flatten(1)).relu()).relu()
    torch.testing.assert_close(cnn(frames), expected)
    assert expected.shape == (2, 9)
    assert cnn.classify(expected).shape == (2, 4)
