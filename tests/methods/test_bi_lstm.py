import numpy as np
import pytest
import torch

from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods.bi_lstm import BiLSTM
from crossmodal.nn.bidirectional_captioner import in_order
from crossmodal.nn.padded_words import padded_words
from tests.methods.captions import PAIR, embedded, random_captions

pytestmark = pytest.mark.usefixtures("cpu")

OPTIONS = {
    "dims": 16,
    "word_dims": 8,
    "dropout": 0.0,
    "references": 5,
    "optimizer": "adam",
    "learning_rate": 0.02,
    "weight_decay": 0.0,
    "batch": 20,
    "epochs": 2,
}


@pytest.fixture
def captioned(make_split):
    """Ten random images with two random captions each."""
    return random_captions(make_split, 0, count=10, captions=2)


@pytest.fixture
def method(captioned, placed):
    def make(**options):
        return placed(BiLSTM(**OPTIONS | options), captioned)

    return make


def log_likelihoods(method, images, ids):
    """log p of each raw image and caption, a pair at a time."""
    model = method.network.models["onward"].eval()
    words, lengths = in_order(ids, "onward"), (ids >= 0).sum(1)
    with torch.inference_mode():
        mapped = method.network.eval().map(torch.as_tensor(images))
        single = [
            [model.log_likelihood(v[None], words[[c]], lengths[[c]]).item() for v in mapped]
            for c in range(len(ids))
        ]
    return np.array(single).T


@pytest.mark.parametrize("normalisation", ["none", "words", "images"])
def test_scores_are_normalised_log_likelihoods(method, captioned, normalisation):
    fitted = method(normalisation=normalisation)
    ids = padded_words(captioned.views["text"])
    expected = log_likelihoods(fitted, captioned.views["image"].features, ids)
    if normalisation == "words":
        expected = expected / ((ids >= 0).sum(1) - 1)
    if normalisation == "images":
        every = log_likelihoods(fitted, fitted.network.references.numpy(), ids)
        expected = expected - np.log(np.exp(every).mean(0))
    images, texts = embedded(fitted, captioned)
    np.testing.assert_allclose(fitted.score(images, texts, PAIR), expected, rtol=1e-4, atol=1e-4)
    swapped = fitted.score(texts, images, PAIR[::-1])
    np.testing.assert_allclose(swapped.T, expected, rtol=1e-4, atol=1e-4)


def test_both_models_may_score(method, captioned):
    one, both = method(normalisation="none"), method(normalisation="none", likelihood="both")
    both.network.load_state_dict(one.network.state_dict())
    first, second = (m.score(*embedded(m, captioned), PAIR) for m in (one, both))
    assert (second < first).all()  # by another probability


def test_references_are_training_images(method, captioned):
    images = {tuple(row) for row in captioned.views["image"].features.tolist()}
    drawn = [tuple(row) for row in method().network.references.tolist()]
    assert set(drawn) <= images
    assert len(set(drawn)) == 5
    again = [tuple(row) for row in method(references=25).network.references.tolist()]
    assert set(again) == images


def test_the_loss_is_twenty_times_the_mean_of_a_word(method, captioned):
    fitted, batch = method(), np.array([3, 0, 19])
    ids = padded_words(captioned.views["text"])[batch]
    images = captioned.views["image"].features[batch // 2]
    count = (ids >= 0).sum() - len(batch)
    forward = np.diag(log_likelihoods(fitted, images, ids)).sum()
    turned = np.where(ids >= 0, in_order(ids, "backward"), np.nan).astype(np.float32)
    models = fitted.network.models
    models["onward"].load_state_dict(models["backward"].state_dict())
    backward = np.diag(log_likelihoods(fitted, images, turned)).sum()
    models["onward"].load_state_dict(method().network.models["onward"].state_dict())
    expected = -20 * (forward + backward) / count
    assert fitted.loss(batch).item() == pytest.approx(expected, rel=1e-4)


def test_gradients_are_clipped_together(method):
    fitted = method(clip=0.5)
    for parameter in fitted.trainable():
        parameter.grad = torch.ones_like(parameter)
    fitted.clip()
    norm = sum(p.grad.square().sum() for p in fitted.trainable()).sqrt().item()
    assert norm == pytest.approx(0.5)


@pytest.mark.parametrize("normalisation", ["words", "images"])
def test_twenty_captions_are_learnt_by_heart(captioned, without_rows, normalisation):
    options = OPTIONS | {"epochs": 40, "normalisation": normalisation, "references": 10}
    method, restored, scorer = (BiLSTM(**options) for _ in range(3))
    method.fit(captioned, captioned, Run(seed=0))
    assert selection_score(method, captioned) == 600
    restored.restore(method.state(), without_rows(captioned.views))
    scorer.restore_scoring(method.scoring_state())
    images, texts = embedded(method, captioned)
    expected = method.score(images, texts, PAIR)
    np.testing.assert_array_equal(restored.score(*embedded(restored, captioned), PAIR), expected)
    np.testing.assert_array_equal(scorer.score(images, texts, PAIR), expected)
