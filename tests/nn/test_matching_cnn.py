import numpy as np
import pytest
import torch

from crossmodal.nn import matching_cnn
from crossmodal.nn.matching_cnn import LEVELS, LONGEST, MatchingCNN

pytestmark = pytest.mark.usefixtures("cpu")

WORDS, WIDTH, CHANNELS = 9, 6, [4, 5, 3]


@pytest.fixture
def make():
    def network(level):
        torch.manual_seed(0)
        return MatchingCNN(level, WORDS, 3, WIDTH, 4, CHANNELS, 7, 0.0).eval()

    return network


@pytest.fixture
def captions(rng):
    """Captions of 1, 2, 5, 29 and 30 words."""
    ids = rng.integers(1, WORDS, (5, LONGEST)).astype(np.float32)
    ids[np.arange(LONGEST) >= np.array([1, 2, 5, 29, 30])[:, None]] = np.nan
    return ids


def plain(network, image, caption):
    """The score of one pair, a position at a time."""
    u = (network.image.weight @ image + network.image.bias).relu()
    seen = network.of_image.weight @ u
    count = int((caption >= 0).sum())
    vectors = [network.words.weight[int(word)] for word in caption[:count]]
    rows = [*vectors, *[torch.zeros(3)] * (LONGEST - count)]
    covered = [place < count for place in range(LONGEST)]
    for number, layer in enumerate(network.layers):
        values, under = [], []
        for place in range(len(rows) - 2):
            window = torch.cat(rows[place : place + 3])
            value = layer.weight @ window + layer.bias
            value = value + seen if number == network.meeting else value
            under.append(any(covered[place : place + 3]))
            values.append(value.relu() if under[-1] else torch.zeros_like(value))
        pairs = range(0, len(values), 2)
        rows = [torch.maximum(values[place], values[place + 1]) for place in pairs]
        covered = [under[place] or under[place + 1] for place in pairs]
    flat = torch.cat(rows)
    hidden = network.hidden.weight @ flat + network.hidden.bias
    hidden = hidden + seen if network.meeting == 3 else hidden
    return (network.output.weight[0] @ hidden.relu() + network.output.bias[0]).item()


@pytest.mark.parametrize(("elements", "together"), [(2**25, 256), (1000, 2), (1, 1)])
@pytest.mark.parametrize("level", LEVELS)
def test_scores_are_those_of_a_pair_at_a_time(
    make, captions, monkeypatch, level, elements, together
):
    monkeypatch.setattr(matching_cnn, "BLOCK_ELEMENTS", elements)
    monkeypatch.setattr(matching_cnn, "CAPTIONS", together)
    network, features = make(level), torch.randn(3, WIDTH)
    with torch.inference_mode():
        scores = network.every_pair(network.images(features), captions)
        expected = [[plain(network, image, words) for words in captions] for image in features]
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("level", LEVELS)
def test_pairs_are_the_diagonal_of_all(make, captions, level):
    network, features = make(level), torch.randn(len(captions), WIDTH)
    images = network.images(features)
    paired = network.pairs(images, network.texts(captions))
    every = network.every_pair(images, captions)
    torch.testing.assert_close(paired, every.diagonal())
