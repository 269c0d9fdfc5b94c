import math

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from crossmodal.data import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.evaluation.selection import selection_score
from crossmodal.losses import ranking_loss
from crossmodal.methods.base import Run
from crossmodal.methods.vase import VASE
from crossmodal.store import Ragged

PAPER = {
    "dims": 1024,
    "width": 1.0,
    "recurrent_layers": 2,
    "margin": 0.2,
    "cycle_weight": 0.05,
    "inverse_temperature": 2.0,
    "learning_rate": 2e-4,
    "decay_every": 15,
    "clip": 2.0,
    "batch": 32,
    "epochs": 100,
    "captions_per_epoch": "all",
    "max_frames": 2048,
    "trim": False,
}
SMALL = PAPER | {"dims": 16, "width": 0.04, "recurrent_layers": 1, "max_frames": 96}
OWNERS = np.array([0, 0, 1, 2, 2, 2, 3, 4, 4])  # not every caption is spoken
FRAMES = np.array([50, 7, 16, 33, 64, 1, 95, 80, 130])


def make_split(images, clips, owners):
    items = np.arange(len(images))
    return Split(
        [str(item) for item in items],
        np.zeros((len(images), 0), bool),
        {
            "image": View(images, items, [str(item) for item in items], {}),
            "speech": View(clips, owners, [str(row) for row in range(len(owners))], {}),
        },
    )


def noise(rng, lengths):
    clips = (rng.uniform(-80, 0, (length, 40)).astype(np.float16) for length in lengths)
    return Ragged.concatenate(clips)


@pytest.fixture
def split(rng):
    """Five images with one to three clips each, of 1 to 130 frames."""
    images = rng.standard_normal((5, 12)).astype(np.float32)
    return make_split(images, noise(rng, FRAMES), OWNERS)


def placed(split, **options):
    """A method with an untrained network, ready for its first batch."""
    method = VASE(**SMALL | options)
    torch.manual_seed(0)
    method.network = method.build(split.views)
    method.place(split)
    return method


def drawn(method, epoch=0):
    return list(method.batches(epoch, np.random.default_rng(epoch)))


def count(network):
    return sum(p.numel() for p in network.parameters())


def test_full_size_has_as_many_parameters_as_the_paper_says(rng):
    split = make_split(np.zeros((2, 4096), np.float32), noise(rng, [20, 30]), np.arange(2))
    network = VASE(**PAPER).build(split.views)
    assert count(network["image"]) == 4_195_328
    assert count(network["speech"]) == 15_965_570 + 9_449_472 + 1_049_600
    assert count(network) + 134_260_544 == 164_920_514  # with the VGG16 up to fc7


def test_learning_rate_falls_to_a_tenth_every_fifteen_epochs():
    rates = [VASE(**PAPER).learning_rate(epoch, step=0) for epoch in (0, 14, 15, 29, 30)]
    np.testing.assert_allclose(rates, [2e-4, 2e-4, 2e-5, 2e-5, 2e-6])


@pytest.mark.parametrize(("cycle_weight", "beta"), [(0.0, 2.0), (0.05, 2.0), (3.0, 12.0)])
def test_loss_is_ranking_plus_weighted_cycle_of_the_embeddings(split, cycle_weight, beta):
    method = placed(split, cycle_weight=cycle_weight, inverse_temperature=beta)
    v, a = (method.embed(m, split.views[m]).astype(float) for m in ("image", "speech"))
    clips = np.array([6, 1, 4])
    v, a = v[OWNERS[clips]], a[clips]
    scores = v @ a.T

    def reconstruct(queries, keys):
        weights = np.exp(beta * queries @ keys.T)
        return weights / weights.sum(1, keepdims=True) @ keys

    v1, a1 = reconstruct(v, a), reconstruct(a, v)
    v2, a2 = reconstruct(v1, a1), reconstruct(a1, v1)
    ranking = sum(
        max(0, 0.2 - scores[i, i] + wrong)
        for i in range(3)
        for k in range(3)
        for wrong in (scores[i, k], scores[k, i])
        if i != k
    )
    expected = ranking + cycle_weight * (((v2 - v) ** 2).sum() + ((a2 - a) ** 2).sum())
    method.network.eval()
    assert method.loss((OWNERS[clips], clips)).item() == pytest.approx(expected, rel=1e-4)


def test_without_cycle_weight_only_ranking_is_learnt(split):
    method = placed(split, cycle_weight=0.0)
    images, clips = drawn(method)[0]
    parameters = list(method.network.parameters())
    found = torch.autograd.grad(method.loss((images, clips)), parameters)
    features = torch.from_numpy(split.views["image"].features[images])
    v = normalize(method.network["image"](normalize(features)))
    a = normalize(method.network["speech"](*method.clips.pad(clips, 96)))
    expected = torch.autograd.grad(ranking_loss(v @ a.T, 0.2), parameters)
    for x, y in zip(found, expected, strict=True):
        torch.testing.assert_close(x, y)


def test_an_epoch_has_every_spoken_caption_with_its_image(split):
    method = placed(split, batch=3)
    for epoch in range(3):
        images, clips = (np.concatenate(rows) for rows in zip(*drawn(method, epoch), strict=True))
        assert sorted(clips) == list(range(len(OWNERS)))
        np.testing.assert_array_equal(images, OWNERS[clips])


def test_an_epoch_has_every_image_with_one_of_its_captions(split):
    method = placed(split, captions_per_epoch="one", batch=5)
    seen = set()
    for epoch in range(40):
        [(images, clips)] = drawn(method, epoch)
        assert sorted(images) == list(range(5))
        np.testing.assert_array_equal(images, OWNERS[clips])
        seen |= set(clips)
    assert seen == set(range(len(OWNERS)))


def test_a_last_batch_of_one_pair_is_dropped(split):
    method = placed(split, batch=4)
    assert [len(clips) for _, clips in drawn(method)] == [4, 4]


@pytest.mark.parametrize("trim", [True, False])
def test_an_embedding_depends_on_its_own_clip_alone(split, trim):
    method = placed(split, trim=trim)
    speech = split.views["speech"]
    together = method.embed("speech", speech)
    for row in range(len(OWNERS)):
        alone = View(speech.features.take(np.array([row])), OWNERS[:1], speech.ids[:1], {})
        np.testing.assert_allclose(method.embed("speech", alone)[0], together[row], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-6)


def test_many_rows_are_embedded_in_order(rng):
    lengths = rng.integers(1, 64, 200)
    split = make_split(
        rng.standard_normal((200, 12)).astype(np.float32), noise(rng, lengths), np.arange(200)
    )
    method = placed(split, trim=True)
    for modality, view in split.views.items():
        order = rng.permutation(200)
        features = view.features
        moved = features.take(order) if isinstance(features, Ragged) else features[order]
        found = method.embed(modality, View(moved, view.items, view.ids, {}))
        np.testing.assert_allclose(found, method.embed(modality, view)[order], atol=1e-6)


@pytest.mark.parametrize(("trim", "size"), [(True, 80), (False, 96)])
def test_clips_are_cut_at_the_longest_allowed_and_padded_with_zeros(split, trim, size):
    method = placed(split, trim=trim)
    clips = split.views["speech"].features
    for rows, longest in (([0, 3, 7], size), ([8, 0], 96)):
        frames = np.zeros((len(rows), longest, 40), np.float32)
        for place, row in enumerate(rows):
            frames[place, : min(FRAMES[row], 96)] = clips[row][:96]
        lengths = torch.from_numpy(FRAMES[rows].clip(max=96))
        expected = normalize(method.network["speech"](torch.from_numpy(frames), lengths))
        found = method._embed_clips(method.clips, np.array(rows))
        torch.testing.assert_close(found, expected)


def test_length_of_an_image_s_features_does_not_matter_and_zeros_are_allowed(split):
    method = placed(split)
    view = split.views["image"]
    scaled = view.features * np.array([1e-3, 1, 7, 100, 0], np.float32)[:, None]
    found = method.embed("image", View(scaled, view.items, view.ids, {}))
    np.testing.assert_allclose(found[:4], method.embed("image", view)[:4], atol=1e-6)
    assert np.isfinite(found).all()


def test_clips_shorter_than_a_step_have_a_finite_loss(rng):
    lengths = np.arange(16)
    images = rng.standard_normal((16, 12)).astype(np.float32)
    method = placed(make_split(images, noise(rng, lengths), lengths), trim=True)
    loss = method.loss((lengths, lengths))
    loss.backward()
    assert math.isfinite(loss.item())
    assert all(p.grad.isfinite().all() for p in method.network.parameters())


def test_all_gradients_together_are_clipped(split):
    method = placed(split, margin=100.0, clip=2.0)
    method.loss(drawn(method)[0]).backward()
    before = [p.grad.clone() for p in method.network.parameters()]
    norm = math.sqrt(sum(g.square().sum().item() for g in before))
    assert norm > 2
    method.clip()
    for parameter, gradient in zip(method.network.parameters(), before, strict=True):
        torch.testing.assert_close(parameter.grad, gradient * 2 / norm, rtol=1e-4, atol=1e-8)


def test_linear_maps_start_glorot_uniform_without_bias(split):
    network = placed(split, dims=200).network
    for layer in (network["image"], network["speech"].project):
        bound = math.sqrt(6 / sum(layer.weight.shape))
        assert 0.98 * bound < layer.weight.abs().max() <= bound
        assert (layer.bias == 0).all()


@pytest.mark.parametrize("cycle_weight", [0.0, 0.05])
def test_learns_32_pairs_by_heart(rng, cycle_weight):
    split = make_split(
        rng.standard_normal((32, 20)).astype(np.float32),
        noise(rng, rng.integers(32, 64, 32)),
        np.arange(32),
    )
    size = {"dims": 32, "width": 0.125, "max_frames": 64}
    speed = {"learning_rate": 1e-3, "epochs": 60, "decay_every": 60}
    method = VASE(**SMALL | size | speed | {"cycle_weight": cycle_weight})
    method.fit(split, split, Run(0))
    assert selection_score(method, split) == 600


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": "image", "speech": None}, "image and speech, but has image, text"),
        ({"image": "speech"}, "view 'image'.*one vector"),
        ({"speech": "image"}, "view 'speech'.*40 bins"),
    ],
)
def test_views_that_do_not_suit_are_refused(split, change, message):
    views = split.views | {name: split.views.get(source) for name, source in change.items()}
    with pytest.raises(CrossmodalError, match=message):
        VASE(**SMALL).build({name: view for name, view in views.items() if view})


def test_several_vectors_of_an_image_are_refused(split):
    several = View(np.zeros((6, 12), np.float32), np.arange(6) // 2, list("012345"), {})
    views = split.views | {"image": several}
    with pytest.raises(CrossmodalError, match="6 rows for 5 items"):
        placed(Split(split.items, split.labels, views))
