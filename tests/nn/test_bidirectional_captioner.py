import numpy as np
import pytest
import torch

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import View
from crossmodal.nn.bidirectional_captioner import BidirectionalCaptioner, in_order
from crossmodal.nn.padded_words import padded_words

pytestmark = pytest.mark.usefixtures("cpu")

CAPTIONS = [[3, 5, 6, 2], [3, 7, 2], [3, 2]]


@pytest.fixture
def captioner():
    torch.manual_seed(0)
    return BidirectionalCaptioner(4, 9, 3, 5, 0.0, 2).eval()


@pytest.fixture
def padded():
    ragged = Ragged.concatenate([np.array(words, np.int32) for words in CAPTIONS])
    return padded_words(View(ragged, np.arange(3), ["a", "b", "c"], {}))


def test_captions_lie_side_by_side_and_in_reverse(padded):
    rows = [[3, 5, 6, 2], [3, 7, 2, np.nan], [3, 2, np.nan, np.nan]]
    np.testing.assert_array_equal(padded, rows)
    assert in_order(padded, "backward").tolist() == [[2, 6, 5, 3], [2, 7, 3, 0], [2, 3, 0, 0]]


def test_both_directions_add_up(captioner, padded):
    images = captioner.map(torch.randn(2, 4))
    found = captioner.log_likelihood(images, padded, ("onward", "backward"))
    expected = sum(
        captioner.models[way].log_likelihood(images, in_order(padded, way), np.array([4, 3, 2]))
        for way in ("onward", "backward")
    )
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("longest", [1, 2, 20])
def test_the_loss_is_of_the_first_words_of_each_direction(captioner, padded, longest):
    images = captioner.map(torch.randn(3, 4))
    expected = 0.0
    for way in ("onward", "backward"):
        words = in_order(padded, way)[:, : longest + 1]
        counts = np.minimum([4, 3, 2], longest + 1)
        own = captioner.models[way].log_likelihood(images, words, counts).diagonal()
        expected -= own.sum().item() / (counts - 1).sum()
    assert captioner.loss(images, padded, longest).item() == pytest.approx(expected, rel=1e-5)
