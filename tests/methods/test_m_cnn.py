import numpy as np
import pytest
import torch

from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods import m_cnn
from crossmodal.methods.m_cnn import MCNN
from crossmodal.nn.matching_cnn import LEVELS
from tests.methods.captions import PAIR, embedded, random_captions

pytestmark = pytest.mark.usefixtures("cpu")

OPTIONS = {
    "word_dims": 8,
    "image_dims": 8,
    "channels": [8, 8, 8],
    "hidden": 16,
    "dropout": 0.0,
    "hinges": "both",
    "optimizer": "adam",
    "learning_rate": 0.01,
    "batch": 20,
    "epochs": 2,
}


@pytest.fixture
def captioned(make_split):
    """Ten random images with two random captions each."""
    return random_captions(make_split, 0, count=10, captions=2)


def test_the_score_is_the_sum_of_all_levels(captioned, placed):
    ensemble = placed(MCNN(**OPTIONS), captioned)
    expected = 0
    for level in LEVELS:
        single = placed(MCNN(**OPTIONS | {"levels": [level]}), captioned)
        single.network[level].load_state_dict(ensemble.network[level].state_dict())
        expected = expected + single.score(*embedded(single, captioned), PAIR)
    images, texts = embedded(ensemble, captioned)
    np.testing.assert_allclose(ensemble.score(images, texts, PAIR), expected, rtol=1e-4, atol=1e-5)
    swapped = ensemble.score(texts, images, PAIR[::-1])
    np.testing.assert_allclose(swapped.T, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("hinges", ["captions", "both"])
@pytest.mark.parametrize("level", LEVELS)
def test_the_loss_is_the_mean_hinge(captioned, placed, monkeypatch, level, hinges):
    method = placed(MCNN(**OPTIONS | {"levels": [level], "hinges": hinges}), captioned)
    batch, other = np.array([0, 5, 8, 13]), torch.tensor([2, 0, 3, 1])
    monkeypatch.setattr(m_cnn, "draw_impostors", lambda negatives: other)
    scores = method.score(*embedded(method, captioned), PAIR)
    owners, loss = batch // 2, 0.0
    for place, wrong in enumerate(other.tolist()):
        own = scores[owners[place], batch[place]]
        loss += max(0, 0.5 + scores[owners[place], batch[wrong]] - own) / 4
        if hinges == "both":
            loss += max(0, 0.5 + scores[owners[wrong], batch[place]] - own) / 4
    assert method.loss(batch).item() == pytest.approx(loss, rel=1e-4)


def test_impostors_are_of_other_images(captioned, placed, monkeypatch):
    method, allowed = placed(MCNN(**OPTIONS), captioned), []
    draw = m_cnn.draw_impostors
    monkeypatch.setattr(m_cnn, "draw_impostors", lambda n: allowed.append(n) or draw(n))
    method.loss(np.array([0, 1, 4]))
    wanted = [[False, False, True], [False, False, True], [True, True, False]]
    assert len(allowed) == 8
    assert all(negatives.tolist() == wanted for negatives in allowed)


def test_twenty_captions_are_learnt_by_heart(captioned, without_rows):
    options = OPTIONS | {"epochs": 100}
    method, restored, scorer = (MCNN(**options) for _ in range(3))
    method.fit(captioned, captioned, Run(seed=0))
    assert selection_score(method, captioned) == 600
    restored.restore(method.state(), without_rows(captioned.views))
    scorer.restore_scoring(method.scoring_state())
    images, texts = embedded(method, captioned)
    expected = method.score(images, texts, PAIR)
    np.testing.assert_array_equal(restored.score(*embedded(restored, captioned), PAIR), expected)
    np.testing.assert_array_equal(scorer.score(images, texts, PAIR), expected)
