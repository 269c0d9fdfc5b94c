import numpy as np
import pytest
import torch

from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods.dan import DAN
from crossmodal.training.pairs import Batch
from tests.methods.maps import captioned_maps

pytestmark = pytest.mark.usefixtures("cpu")

FORWARD, BACKWARD = ("image", "text"), ("text", "image")
OPTIONS = {"dims": 8, "word_dims": 6, "dropout": 0.0, "margin": 1.0, "batch": 10, "epochs": 2}


@pytest.fixture
def captioned(make_split, rng):
    return captioned_maps(make_split, rng)


def embedded(method, split):
    return [method.embed(modality, split.views[modality]) for modality in FORWARD]


def test_published_settings():
    options = DAN().options
    assert (options.steps, options.margin, options.batch) == (2, 100, 128)
    assert [DAN().learning_rate_at(e, 0) for e in (0, 29, 30, 59)] == pytest.approx(
        [0.1, 0.1, 0.01, 0.01]
    )


def test_scores_are_sums_over_the_steps(captioned, placed):
    method = placed(DAN(**OPTIONS), captioned)
    images, captions = embedded(method, captioned)
    assert images.shape == (20, 3 * 8)
    v, u = images.reshape(20, 3, 8), captions.reshape(40, 3, 8)
    expected = [[sum(v[i, k] @ u[j, k] for k in range(3)) for j in range(40)] for i in range(20)]
    scores = method.score(images, captions, FORWARD)
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-6)
    backward = method.score(captions, images, BACKWARD)
    np.testing.assert_allclose(backward, scores.T, rtol=1e-4, atol=1e-6)


def test_first_contexts_are_means(captioned, placed):
    method = placed(DAN(**OPTIONS), captioned)
    images, captions = embedded(method, captioned)
    layer = method.network.image.project[0][0]
    means = captioned.views["image"].features.astype(np.float32).mean((2, 3))
    expected = layer(torch.from_numpy(means)).tanh().detach()
    np.testing.assert_allclose(images[:, :8], expected, atol=1e-6)
    words = torch.from_numpy(captioned.views["text"].features[3]).long()
    states, _ = method.network.words.lstm(method.network.words.words(words))
    expected = (states[:, :8] + states[:, 8:]).mean(0).detach()
    np.testing.assert_allclose(captions[3, :8], expected, atol=1e-6)


@pytest.mark.parametrize("negatives", ["sampled", "all"])
def test_loss_equals_loops(captioned, placed, negatives, monkeypatch):
    """Of a batch in which two captions are of one image."""
    method = placed(DAN(**OPTIONS | {"negatives": negatives}), captioned)
    rows = np.array([0, 5, 4, 39])
    batch = Batch(rows // 2, rows)
    images, captions = embedded(method, captioned)
    s = method.score(images[batch.images], captions[rows], FORWARD)
    drawn = iter([[1, 0, 3, 2], [3, 3, 0, 1]])
    chosen = "crossmodal.methods.dan.draw_impostors"
    monkeypatch.setattr(chosen, lambda _: torch.tensor(next(drawn)))
    others = [[1, 2, 3], [0, 3], [0, 3], [0, 1, 2]]
    pairs = [(i, j) for i, found in enumerate(others) for j in found]
    first = second = pairs
    if negatives == "sampled":
        first, second = [*enumerate([1, 0, 3, 2])], [*enumerate([3, 3, 0, 1])]
    expected = sum(max(0, 1 - s[i, i] + s[j, i]) for i, j in first)
    expected += sum(max(0, 1 - s[i, i] + s[i, j]) for i, j in second)
    assert method.loss(batch).item() == pytest.approx(expected / 4, rel=1e-5)


def test_drawn_negatives_are_of_other_images(captioned, placed, monkeypatch):
    method = placed(DAN(**OPTIONS), captioned)
    seen = []
    chosen = "crossmodal.methods.dan.draw_impostors"
    monkeypatch.setattr(chosen, lambda negatives: seen.append(negatives) or torch.arange(3))
    method.loss(Batch(np.array([0, 0, 3]), np.array([0, 1, 6])))
    wanted = [[False, False, True], [False, False, True], [True, True, False]]
    assert [negatives.tolist() for negatives in seen] == [wanted, wanted]


def test_epoch_takes_captions(captioned, placed, rng):
    for which, count in (("all", 40), ("one", 20)):
        method = placed(DAN(**OPTIONS | {"captions_per_epoch": which}), captioned)
        rows = np.concatenate([batch.captions for batch in method.batches(0, rng)])
        assert len({*rows}) == len(rows) == count


@pytest.mark.parametrize(("negatives", "rsum"), [("sampled", 550), ("all", 600)])
def test_fit_of_20_captions_by_heart(make_split, rng, without_rows, negatives, rsum):
    captioned = captioned_maps(make_split, rng, count=10)
    speed = {"optimizer": "adam", "learning_rate": 0.03, "clip": 5.0, "weight_decay": 0.0}
    speed |= {"batch": 20, "epochs": 80, "dims": 24, "negatives": negatives}
    method = DAN(**OPTIONS | speed)
    method.fit(captioned, captioned, Run(seed=0))
    assert selection_score(method, captioned) >= rsum
    restored = DAN(**OPTIONS | speed)
    restored.restore(method.state(), without_rows(captioned.views))
    for found, expected in zip(
        embedded(restored, captioned), embedded(method, captioned), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_published_step_is_of_clipped_gradients_with_momentum(captioned, placed, rng):
    """The first one; all gradients together have a norm of at most 0.1."""
    method = placed(DAN(**OPTIONS | {"margin": 100.0}), captioned)
    method.loss(next(iter(method.batches(0, rng)))).backward()
    trained = method.trainable()
    assert sum(p.grad.square().sum() for p in trained) > 0.01
    method.clip()
    assert sum(p.grad.square().sum() for p in trained).sqrt().item() == pytest.approx(0.1, rel=1e-4)
    expected = [p.detach() - 0.1 * (p.grad + 0.0005 * p.detach()) for p in trained]
    optimizer = method.optimizer()
    optimizer.param_groups[0]["lr"] = method.learning_rate_at(0, 0)
    optimizer.step()
    for parameter, wanted in zip(trained, expected, strict=True):
        torch.testing.assert_close(parameter.detach(), wanted)
    assert optimizer.param_groups[0]["momentum"] == 0.9


def test_texts_that_are_vectors_are_refused(make_split, rng):
    split = make_split({"image": rng.random((4, 3, 2, 2)), "text": rng.random((4, 3))})
    with pytest.raises(CrossmodalError, match="sequence of word ids"):
        DAN().build(split.views)
