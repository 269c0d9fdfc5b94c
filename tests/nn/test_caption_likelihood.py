import numpy as np
import pytest
import torch
from torch.nn.functional import log_softmax

from crossmodal.nn import caption_likelihood
from crossmodal.nn.caption_likelihood import LanguageModel

pytestmark = pytest.mark.usefixtures("cpu")

WORDS, DIMS, IMAGES, CAPTIONS = 9, 5, 4, 30


@pytest.fixture
def model():
    torch.manual_seed(0)
    return LanguageModel(WORDS, 3, DIMS, 0.0).eval()


@pytest.fixture
def captions(rng):
    """Captions of two to six of three words, so that many begin alike; and their lengths."""
    return rng.integers(1, 4, (CAPTIONS, 6)), rng.integers(2, 7, CAPTIONS)


def plain(model, image, words):
    """The log-likelihood of one caption, word by word."""
    states, _ = model.text(model.words(torch.tensor(words[:-1]))[None])
    every = image.expand(1, len(words) - 1, -1)
    states, _ = model.multimodal(torch.cat([states, every], 2))
    scores = log_softmax(states[0] @ model.output.weight.T + model.output.bias, 1)
    return sum(scores[place, word].item() for place, word in enumerate(words[1:]))


@pytest.mark.parametrize(("together", "block"), [(256, 2**25), (7, 2**25), (256, 1), (5, 700)])
def test_the_likelihood_is_that_of_word_by_word(model, captions, monkeypatch, together, block):
    monkeypatch.setattr(caption_likelihood, "CAPTIONS", together)
    monkeypatch.setattr(caption_likelihood, "BLOCK_ELEMENTS", block)
    monkeypatch.setattr(caption_likelihood, "LOGIT_ELEMENTS", block)
    (ids, lengths), images = captions, torch.randn(IMAGES, DIMS)
    with torch.inference_mode():
        found = model.log_likelihood(images, ids, lengths)
        expected = [
            [plain(model, image, row[:n].tolist()) for row, n in zip(ids, lengths, strict=True)]
            for image in images
        ]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_likelihoods_of_all_captions_of_a_length_sum_to_one(model):
    ids = np.stack(np.meshgrid([2], *[np.arange(WORDS)] * 2), -1).reshape(-1, 3)
    with torch.inference_mode():
        found = model.log_likelihood(torch.randn(2, DIMS), ids, np.full(len(ids), 3))
    np.testing.assert_allclose(found.exp().sum(1), 1, rtol=1e-5)


def test_the_loss_is_the_mean_of_a_word(model, captions):
    (ids, lengths), images = captions, torch.randn(CAPTIONS, DIMS)
    inside = torch.from_numpy(np.arange(6) < lengths[:, None])
    loss = model.loss(images, torch.from_numpy(ids), inside).item()
    own = model.log_likelihood(images, ids, lengths).diagonal().sum().item()
    assert loss == pytest.approx(-own / (lengths - 1).sum(), rel=1e-5)
