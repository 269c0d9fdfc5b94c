import numpy as np
import pytest
import torch

from crossmodal.learning.method import Run
from crossmodal.learning.pair_selection import first_items
from crossmodal.learning.selection import selection_score
from crossmodal.methods.sm_lstm import SMLSTM
from crossmodal.training.pairs import Batch
from tests.methods.captions import embedded
from tests.methods.maps import captioned_maps

pytestmark = pytest.mark.usefixtures("cpu")

FORWARD, BACKWARD = ("image", "text"), ("text", "image")
OPTIONS = {"dims": 8, "word_dims": 6, "batch": 10, "epochs": 2}


@pytest.fixture
def captioned(make_split, rng):
    return captioned_maps(make_split, rng)


def test_embeddings_are_of_each_caption_alone(captioned, placed):
    method, text = placed(SMLSTM(**OPTIONS), captioned), captioned.views["text"]
    captions = method.embed("text", text)
    lengths = text.features.lengths
    assert captions.shape == (40, lengths.max(), 16)
    np.testing.assert_array_equal((~np.isnan(captions)).all(2).sum(1), lengths)
    words = torch.from_numpy(text.features[3]).long()
    network = method.network
    states, (last, _) = network.words.lstm(network.words.words(words))
    expected = network.text(states[None], last.flatten()[None])[0].detach()
    np.testing.assert_allclose(captions[3, : lengths[3]], expected, atol=1e-6)


def test_context_of_an_image_is_its_mean(captioned, placed):
    method = placed(SMLSTM(**OPTIONS), captioned)
    images = method.embed("image", captioned.views["image"])
    assert images.shape == (20, 6, 16)
    regions = torch.from_numpy(captioned.views["image"].features[4].astype(np.float32)).flatten(1)
    channels = captioned.views["image"].features.astype(np.float32).swapaxes(0, 1).reshape(7, -1)
    mean, deviation = (torch.from_numpy(f(channels, 1)) for f in (np.mean, np.std))
    regions = (regions.T - mean) / deviation
    expected = method.network.image(regions[None], regions.mean(0)[None])[0].detach()
    np.testing.assert_allclose(images[4], expected, atol=1e-5)


def test_scores_are_those_of_pairs_alone(captioned, placed):
    method = placed(SMLSTM(**OPTIONS), captioned)
    images, captions = embedded(method, captioned)
    scores = method.score(images, captions, FORWARD)
    assert scores.shape == (20, 40)
    np.testing.assert_allclose(method.score(captions, images, BACKWARD), scores.T, atol=1e-6)
    for i, j in ((0, 0), (7, 3), (19, 39)):
        alone = method.score(images[i : i + 1], captions[j : j + 1], FORWARD)
        assert alone.item() == pytest.approx(scores[i, j], abs=1e-6)
    assert scores.std() > 1e-4


def test_loss_equals_loops(captioned, placed):
    """Of a batch in which two captions are of one image."""
    method = placed(SMLSTM(**OPTIONS | {"coverage_weight": 0.5}), captioned)
    rows = np.array([0, 5, 4, 39])
    batch = Batch(rows // 2, rows)
    images, captions = embedded(method, captioned)
    s = method.score(images[batch.images], captions[rows], FORWARD)
    others = [[1, 2, 3], [0, 3], [0, 3], [0, 1, 2]]
    hinges = missing = 0
    for i, found in enumerate(others):
        for j in found:
            hinges += max(0, 1 - s[i, i] + s[i, j]) + max(0, 1 - s[i, i] + s[j, i])
        count = captioned.views["text"].features.lengths[rows[i]]
        pair = images[batch.images[i]][None], captions[rows[i]][None, :count]
        keys = [torch.from_numpy(side).chunk(2, 2) for side in pair]
        state, sums = None, [0, 0]
        shown = torch.zeros(1, 1, 8)
        for _ in range(3):
            selected = []
            for side, (selection, (key, value)) in enumerate(
                zip((method.scorer.regions, method.scorer.words), keys, strict=True)
            ):
                moved = shown @ selection.of_state.weight.T
                weights = ((key + moved).sigmoid() @ selection.weigh.weight[0]).softmax(1)
                sums[side] = sums[side] + weights
                selected.append((weights[:, None] @ value)[0])
            state = method.scorer.aggregate((selected[0] + selected[1]).sigmoid(), state)
            shown = state[0][None]
        missing += sum((1 - weights).square().sum().item() for weights in sums)
    assert method.loss(batch).item() == pytest.approx((hinges + 0.5 * missing) / 4, rel=1e-5)


def test_weights_of_the_score_are_enough_to_score(captioned, placed):
    method = placed(SMLSTM(**OPTIONS), captioned)
    images, captions = embedded(method, captioned)
    other = SMLSTM(**OPTIONS)
    other.restore_scoring(method.scoring_state())
    expected = method.score(images, captions, FORWARD)
    np.testing.assert_array_equal(other.score(images, captions, FORWARD), expected)


def test_validation_is_rsum(captioned, placed):
    method = placed(SMLSTM(**OPTIONS), captioned)
    assert method.validate(captioned)["validation"] == selection_score(method, captioned)
    method = placed(SMLSTM(**OPTIONS | {"validation_items": 5}), captioned)
    expected = selection_score(method, first_items(captioned, 5))
    assert method.validate(captioned)["validation"] == expected


def test_fit_of_20_captions_by_heart(make_split, rng, without_rows):
    captioned = captioned_maps(make_split, rng, count=10)
    speed = {"dims": 32, "learning_rate": 0.01, "clip": 5.0, "coverage_weight": 0.01}
    speed |= {"batch": 20, "epochs": 150, "decay_every": 150}
    method = SMLSTM(**OPTIONS | speed)
    method.fit(captioned, captioned, Run(seed=0))
    assert selection_score(method, captioned) == 600
    restored = SMLSTM(**OPTIONS | speed)
    restored.restore(method.state(), without_rows(captioned.views))
    images, captions = embedded(restored, captioned)
    expected = method.score(*embedded(method, captioned), FORWARD)
    np.testing.assert_array_equal(restored.score(images, captions, FORWARD), expected)
