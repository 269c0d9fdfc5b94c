import numpy as np
import pytest
import torch

from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods.embedding_network import EmbeddingNetwork, hinges

pytestmark = pytest.mark.usefixtures("cpu")

OPTIONS = {
    "dims": 8,
    "hidden": 32,
    "dropout": 0.0,
    "margin": 0.1,
    "image_weight": 1.0,
    "sentence_weight": 1.5,
    "neighbour_weight": 0.05,
    "hardest": 10,
    "learning_rate": 0.01,
    "decay": 0.9,
    "batch": 20,
    "epochs": 2,
}


@pytest.fixture
def captioned(make_split, rng):
    """40 random images with three sentences each, which are noisy maps of them."""
    images = rng.standard_normal((40, 6)).astype(np.float32)
    texts = images.repeat(3, axis=0) @ rng.standard_normal((6, 9))
    texts += 0.3 * rng.standard_normal(texts.shape)
    return make_split({"image": images, "text": texts.astype(np.float32)})


def placed(split, **options):
    """A method with an untrained network, ready for its first batch."""
    method = EmbeddingNetwork(**OPTIONS | options)
    torch.manual_seed(0)
    method.network = method.build(split.views)
    method.place(split)
    return method


def looped(distances, positives, excluded, margin, hardest):
    """The same, pair by pair."""
    means = []
    for anchor, partner in zip(*np.nonzero(positives), strict=True):
        found = [
            max(0.0, margin + distances[anchor, partner] - distances[anchor, n])
            for n in range(distances.shape[1])
            if not excluded[anchor, n]
        ]
        means.append(np.mean(sorted(found)[-hardest:]))
    return np.mean(means)


@pytest.mark.parametrize("hardest", [1, 3])
def test_hinges_are_those_of_a_loop(rng, hardest):
    distances = rng.random((6, 8))
    positives = rng.permuted(np.eye(6, 8, dtype=bool), axis=1)
    excluded = positives | rng.permuted(np.eye(6, 8, dtype=bool), axis=1)
    arrays = (torch.from_numpy(x) for x in (distances, positives, excluded))
    expected = looped(distances, positives, excluded, 0.2, hardest)
    assert hinges(*arrays, 0.2, hardest).item() == pytest.approx(expected)


def test_pairs_nearer_by_the_margin_cost_nothing():
    distances = torch.tensor([[0.0, 1.0, 2.0], [1.5, 0.5, 1.0]])
    positives = torch.tensor([[True, False, False], [False, True, False]])
    assert hinges(distances, positives, positives, 0.5, 10) == 0
    assert hinges(distances, positives, positives, 0.7, 1) == pytest.approx(0.1)


def test_an_epoch_takes_two_sentences_of_each_image(captioned, rng):
    items = captioned.views["text"].items
    for images, sentences in placed(captioned).batches(0, rng):
        owners = items[sentences].reshape(-1, 2)
        np.testing.assert_array_equal(owners, np.stack([images, images], axis=1))
        assert (sentences[::2] != sentences[1::2]).all()


def test_an_image_with_one_sentence_has_it_twice(make_split, rng):
    split = make_split({"image": rng.random((5, 3)), "text": rng.random((5, 4))})
    for images, sentences in placed(split).batches(0, rng):
        np.testing.assert_array_equal(sentences, images.repeat(2))


def test_each_weight_scales_its_part_of_the_loss(captioned, rng):
    method = placed(captioned)
    batch = next(iter(method.batches(0, rng)))
    weights = ("image_weight", "sentence_weight", "neighbour_weight")
    none = dict.fromkeys(weights, 0.0)
    parts = [placed(captioned, **none | {w: OPTIONS[w]}).loss(batch).item() for w in weights]
    assert min(parts) > 0
    assert method.loss(batch).item() == pytest.approx(sum(parts), rel=1e-5)


def test_the_learning_rate_falls_from_epoch_to_epoch(captioned):
    rates = [placed(captioned).learning_rate_at(epoch, 0) for epoch in range(3)]
    assert rates == pytest.approx([0.01, 0.009, 0.0081])


def test_noisy_maps_are_learnt_and_kept(captioned, without_rows):
    method = EmbeddingNetwork(**OPTIONS | {"epochs": 20, "decay": 1.0})
    method.fit(captioned, captioned, Run(seed=0))
    untrained = placed(captioned)
    assert selection_score(method, captioned) > selection_score(untrained, captioned) + 200
    restored = EmbeddingNetwork(**OPTIONS)
    restored.restore(method.state(), without_rows(captioned.views))
    for modality, view in captioned.views.items():
        found = method.embed(modality, view)
        np.testing.assert_array_equal(restored.embed(modality, view), found)
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-5)


def test_more_than_two_views_are_refused(make_split, rng):
    views = {name: rng.random((4, 3)) for name in ("image", "text", "speech")}
    with pytest.raises(CrossmodalError, match="needs two views"):
        EmbeddingNetwork(**OPTIONS).build(make_split(views).views)
