import numpy as np
import pytest
import torch
from torch.nn.functional import cosine_similarity

from crossmodal.data.feature_file import Ragged
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods.w2vv import W2VV

pytestmark = pytest.mark.usefixtures("cpu")

WIDTH, WORDS, EOS = 12, 30, 2
OPTIONS = {
    "dims": 8,
    "word_dims": 6,
    "hidden": 64,
    "dropout": 0.0,
    "learning_rate": 0.003,
    "clip": 5.0,
    "batch": 10,
    "epochs": 2,
}


@pytest.fixture
def captioned(make_split, rng):
    """20 random images with two random captions of 3 to 9 words and the end token each."""
    words = [np.append(rng.integers(4, WORDS, n), EOS) for n in rng.integers(3, 10, 40)]
    images = np.abs(rng.standard_normal((20, WIDTH))).astype(np.float32)
    views = {"image": images, "text": Ragged.concatenate(words)}
    return make_split(views, vocabulary=[str(word) for word in range(WORDS)])


def placed(split, **options):
    """A method with an untrained network, ready for its first batch."""
    method = W2VV(**OPTIONS | options)
    torch.manual_seed(0)
    method.network = method.build(split.views)
    method.place(split)
    return method


def test_a_prediction_follows_from_counts_mean_and_state(captioned):
    method, caption = placed(captioned), captioned.views["text"].features[3]
    encoder, layers = method.network.text, method.network.layers
    words = torch.from_numpy(caption).long()
    bag = torch.tensor([(caption == word).sum() for word in range(WORDS)]).float()
    mean = encoder.words.weight[words].mean(0)
    _, state = encoder.gru(encoder.words(words))
    hidden = (layers[0].weight @ torch.cat([bag, mean, state[0]]) + layers[0].bias).relu()
    expected = (layers[-2].weight @ hidden + layers[-2].bias).relu().detach()
    row = method.embed("text", captioned.views["text"])[3]
    assert cosine_similarity(torch.from_numpy(row), expected, dim=0) == pytest.approx(1, abs=1e-5)


def test_the_loss_is_the_mean_squared_error_of_the_own_image(captioned):
    method, rows = placed(captioned), np.array([0, 5, 39])
    predicted = method.network(captioned.views["text"].features, rows)
    wanted = captioned.views["image"].features[rows // 2]
    expected = np.square(predicted.detach().numpy() - wanted).mean()
    assert method.loss(rows).item() == pytest.approx(expected, rel=1e-5)


def test_an_image_is_its_unit_features(captioned):
    images = captioned.views["image"]
    expected = images.features / np.linalg.norm(images.features, axis=1, keepdims=True)
    np.testing.assert_allclose(placed(captioned).embed("image", images), expected, rtol=1e-5)


def test_rectified_predictions_are_not_negative(captioned):
    text = captioned.views["text"]
    assert placed(captioned).embed("text", text).min() == 0


def test_an_epoch_takes_each_caption_once(captioned, rng):
    rows = np.concatenate(list(placed(captioned).batches(0, rng)))
    assert sorted(rows) == list(range(40))


def test_gradients_are_clipped_together(captioned):
    method = placed(captioned, clip=0.5)
    trained = [p for p in method.network.parameters() if p.requires_grad]
    for parameter in trained:
        parameter.grad = torch.ones_like(parameter)
    method.clip()
    assert sum(p.grad.square().sum() for p in trained).sqrt().item() == pytest.approx(0.5)
    assert len({p.grad.flatten()[0].item() for p in trained}) == 1


def test_forty_captions_are_learnt_by_heart_and_kept(captioned, without_rows):
    method = W2VV(**OPTIONS | {"epochs": 25, "learning_rate": 0.01})
    method.fit(captioned, captioned, Run(seed=0))
    assert selection_score(method, captioned) > 590  # of 600
    restored = W2VV(**OPTIONS)
    restored.restore(method.state(), without_rows(captioned.views))
    for modality, view in captioned.views.items():
        np.testing.assert_array_equal(restored.embed(modality, view), method.embed(modality, view))


def test_texts_that_are_vectors_are_refused(make_split, rng):
    split = make_split({"image": rng.random((4, 3)), "text": rng.random((4, 3))})
    with pytest.raises(CrossmodalError, match="sequence of word ids"):
        W2VV(**OPTIONS).build(split.views)
