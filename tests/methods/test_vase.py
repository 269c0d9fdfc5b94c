import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize
from torch.utils.flop_counter import FlopCounterMode

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods.vase import VASE
from crossmodal.nn.losses import ranking_loss
from crossmodal.training.pairs import Batch
from tests.methods.spoken import (
    FRAMES,
    OWNERS,
    WORDS,
    count,
    drawn,
    image_files,
    make_split,
    noise,
    placed,
    sentences,
)
from tests.project_params import PARAMS

PAPER = PARAMS.plugin("methods", "vase")["options"] | {"inverse_temperature": 2.0}
SMALL = PAPER | {"dims": 16, "width": 0.04, "recurrent_layers": 1, "word_dims": 5, "max_frames": 96}
FILES = SMALL | {
    "image_network": "squeezenet1_1",
    "image_weights": "random",
    "finetuning_rate": 2e-5,
}


@pytest.fixture
def split(rng):
    """Five images with one to three clips each, of 1 to 130 frames."""
    images = rng.standard_normal((5, 12)).astype(np.float32)
    return make_split(images, noise(rng, FRAMES), OWNERS)


@pytest.fixture
def tri_modal(rng, split):
    """The same with transcripts."""
    image, speech = (split.views[m].features for m in ("image", "speech"))
    return make_split(image, speech, OWNERS, sentences(rng, len(OWNERS)))


@pytest.fixture
def small_crops(with_small_crops):
    """SqueezeNet sees 32 pixels."""
    with_small_crops("squeezenet1_1")


@pytest.fixture
def pictures(rng, small_crops):
    """Image files instead of features."""
    return make_split(image_files(rng, 5), noise(rng, FRAMES), OWNERS)


def ready(split, **options):
    return placed(VASE(**SMALL | options), split)


@pytest.mark.parametrize(
    ("image", "speech", "parts", "total"),
    [
        ("vgg16", "davenet", (134_260_544, 4_195_328, 15_965_570), 164_920_514),
        ("resnet50", "resdavenet", (23_508_032, 2_098_176, 44_670_978), 80_776_258),
    ],
)
def test_parameters_as_published(rng, image, speech, parts, total):
    options = PAPER | {"image_network": image, "speech_network": speech}
    split = make_split(image_files(rng, 2), noise(rng, [20, 30]), np.arange(2), sentences(rng, 2))
    with torch.device("meta"):
        network = VASE(**options | {"image_weights": "imagenet"}).build(split.views)
    assert (count(network["trunk"]), count(network["image"])) == parts[:2]
    assert count(network["speech"].steps) == parts[2]
    assert count(network["speech"]) - parts[2] == 9_449_472 + 1_049_600
    assert count(network["text"]) == 5_123_072 + 300 * WORDS
    assert count(network) - count(network["text"]) == total


@pytest.mark.parametrize(
    ("image", "speech", "billions"),
    [("vgg16", "davenet", 23.065), ("resnet50", "resdavenet", 12.238)],
)
def test_multiplications_as_published_without_the_gru(rng, image, speech, billions):
    options = PAPER | {"image_network": image, "speech_network": speech}
    split = make_split(image_files(rng, 2), noise(rng, [20, 30]), np.arange(2))
    with torch.device("meta"):
        network = VASE(**options | {"image_weights": "imagenet"}).build(split.views).to("meta")
    encoder = network.eval()["speech"]
    with FlopCounterMode(display=False) as counter:
        v = network["image"](network["trunk"](torch.empty(1, 3, 224, 224, device="meta")))
        steps = encoder.steps.convolutions(torch.empty(1, 2048, 40, device="meta"))
        a = encoder.project(torch.empty(1, 1024, device="meta"))
    assert (steps.shape, v.shape, a.shape) == ((1, 128, 1024), (1, 1024), (1, 1024))
    assert counter.get_total_flops() / 2e9 == pytest.approx(billions, abs=5e-4)


def test_schedule_of_two_phases():
    o = PAPER | {"image_network": "vgg16", "finetuning_rate": 2e-5, "finetuning_epochs": 7}
    schedule = VASE(**o).schedule
    assert [phase.epochs for phase in schedule.phases] == [100, 7]
    assert len(VASE(**PAPER).schedule.phases) == 1
    for phase, rate in enumerate((2e-4, 2e-5)):
        rates = [schedule.learning_rate(phase, epoch) for epoch in (0, 14, 15, 29, 30)]
        np.testing.assert_allclose(rates, [rate, rate, rate / 10, rate / 10, rate / 100])


def looped_reconstruction(queries, others, beta):
    keys = np.concatenate(others)
    weights = np.exp(beta * queries @ keys.T)
    return weights / weights.sum(1, keepdims=True) @ keys


def looped_loss(rows, beta, cycle_weight):
    """Equations 7 to 30 for unit rows of two or three modalities."""
    ranking = sum(
        max(0, 0.2 - p[i] @ q[i] + wrong)
        for p, q in combinations(rows, 2)
        for i in range(len(p))
        for k in range(len(p))
        for wrong in (p[i] @ q[k], p[k] @ q[i])
        if i != k
    )
    found = rows
    for _ in range(2):
        found = [looped_reconstruction(x, [y for y in found if y is not x], beta) for x in found]
    cycle = sum(((x - y) ** 2).sum() for x, y in zip(found, rows, strict=True))
    return ranking + cycle_weight * cycle


@pytest.mark.parametrize("views", ["split", "tri_modal"])
@pytest.mark.parametrize(("cycle_weight", "beta"), [(0.0, 2.0), (0.05, 2.0), (3.0, 12.0)])
def test_loss_equals_the_equations(request, views, cycle_weight, beta):
    split = request.getfixturevalue(views)
    method = ready(split, cycle_weight=cycle_weight, inverse_temperature=beta)
    clips = np.array([6, 1, 4])
    rows = [method.embed("image", split.views["image"])[OWNERS[clips]]]
    rows.append(method.embed("speech", split.views["speech"])[clips])
    if "text" in split.views:
        rows.append(normalize(method._map_texts(method.texts, clips)).detach().numpy())
    expected = looped_loss([x.astype(float) for x in rows], beta, cycle_weight)
    method.network.eval()
    assert method.loss(Batch(OWNERS[clips], clips)).item() == pytest.approx(expected, rel=1e-4)


def test_cycle_of_rows_before_normalisation(split):
    clips = np.array([6, 1, 4])
    first, other = (ready(split, cycle_of_unit_rows=unit) for unit in (True, False))
    for method in (first, other):
        method.network.eval()
        with torch.no_grad():
            method.network["image"].weight.mul_(3)
            method.network["image"].bias.mul_(3)
    batch = Batch(OWNERS[clips], clips)
    scaled = [method.loss(batch).item() for method in (first, other)]
    with torch.no_grad():
        for method in (first, other):
            method.network["image"].weight.mul_(2)
    again = [method.loss(batch).item() for method in (first, other)]
    assert again[0] == pytest.approx(scaled[0], rel=1e-5)
    assert again[1] > scaled[1] + 0.01


def test_cycle_by_cosines_of_rows_as_they_are(split):
    method = ready(split, cycle_of_unit_rows=False, cycle_weight=1.0, margin=0.0)
    method.network.eval()
    clips = np.array([6, 1, 4])
    batch = Batch(OWNERS[clips], clips)
    rows = [
        method._map_images(method.images.features(batch)),
        method.speech(method.speech.clips, clips),
    ]
    v, a = (3 * x for x in rows)
    with torch.no_grad():
        for layer in (method.network["image"], method.network["speech"].project):
            layer.weight.mul_(3)
            layer.bias.mul_(3)
    first = [torch.softmax(2 * normalize(x) @ normalize(y).T, 1) @ y for x, y in ((v, a), (a, v))]
    again = [torch.softmax(2 * x @ y.T, 1) @ y for x, y in (first, first[::-1])]
    expected = sum((x - y).square().sum() for x, y in zip(again, (v, a), strict=True))
    ranking = ranking_loss(normalize(v) @ normalize(a).T, 0.0)
    torch.testing.assert_close(method.loss(batch) - ranking, expected)


def test_texts_used_in_training_alone(tri_modal, split):
    method = ready(tri_modal)
    assert count(method.network["text"]) == WORDS * 5 + 3 * 16 * (5 + 16) + 6 * 16 + 16 * 17
    method.loss(drawn(method)[0]).backward()
    gradients = [p.grad for p in method.network["text"].parameters() if p.requires_grad]
    assert all(gradient.abs().max() > 0 for gradient in gradients)
    expected = {m: method.embed(m, split.views[m]) for m in ("image", "speech")}
    for parameter in method.network["text"].parameters():
        parameter.data.fill_(torch.nan)
    for modality, rows in expected.items():
        np.testing.assert_array_equal(method.embed(modality, split.views[modality]), rows)
    assert "text" not in ready(split).network


def test_state_round_trip(tri_modal, pictures):
    for split, options in ((tri_modal, SMALL), (pictures, FILES)):
        method = placed(VASE(**options), split)
        again = VASE(**options)
        again.restore(method.state(), split.views)
        for modality in ("image", "speech"):
            view = split.views[modality]
            np.testing.assert_array_equal(again.embed(modality, view), method.embed(modality, view))


def test_gradients_of_ranking_without_cycle_weight(split):
    method = ready(split, cycle_weight=0.0)
    images, clips, _ = batch = drawn(method)[0]
    parameters = list(method.network.parameters())
    found = torch.autograd.grad(method.loss(batch), parameters)
    features = torch.from_numpy(split.views["image"].features[images])
    v = normalize(method.network["image"](normalize(features)))
    a = normalize(method.network["speech"](*method.speech.clips.pad(clips, 96)))
    expected = torch.autograd.grad(ranking_loss(v @ a.T, 0.2), parameters)
    for x, y in zip(found, expected, strict=True):
        torch.testing.assert_close(x, y)


@pytest.mark.parametrize("trim", [True, False])
def test_embedding_independent_of_other_clips(split, trim):
    method = ready(split, trim=trim)
    speech = split.views["speech"]
    together = method.embed("speech", speech)
    for row in range(len(OWNERS)):
        alone = View(speech.features.take(np.array([row])), OWNERS[:1], speech.ids[:1], {})
        np.testing.assert_allclose(method.embed("speech", alone)[0], together[row], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-6)


def test_embeddings_in_order_of_rows(rng):
    lengths = rng.integers(1, 64, 200)
    split = make_split(
        rng.standard_normal((200, 12)).astype(np.float32), noise(rng, lengths), np.arange(200)
    )
    method = ready(split, trim=True)
    for modality, view in split.views.items():
        order = rng.permutation(200)
        features = view.features
        moved = features.take(order) if isinstance(features, Ragged) else features[order]
        found = method.embed(modality, View(moved, view.items, view.ids, {}))
        np.testing.assert_allclose(found, method.embed(modality, view)[order], atol=1e-6)


@pytest.mark.parametrize(
    ("trim", "padding", "size"), [(True, 0.0, 80), (True, -80.0, 80), (False, 0.0, 96)]
)
def test_clips_cut_and_padded(split, trim, padding, size):
    method = ready(split, trim=trim, padding=padding)
    clips = split.views["speech"].features
    for rows, longest in (([0, 3, 7], size), ([8, 0], 96)):
        frames = np.full((len(rows), longest, 40), padding, np.float32)
        for place, row in enumerate(rows):
            frames[place, : min(FRAMES[row], 96)] = clips[row][:96]
        lengths = torch.from_numpy(FRAMES[rows].clip(max=96))
        expected = normalize(method.network["speech"](torch.from_numpy(frames), lengths))
        found = normalize(method.speech(method.speech.clips, np.array(rows)))
        torch.testing.assert_close(found, expected)


def test_reads_padding_includes_all_steps(split):
    literal, packed = (ready(split, reads_padding=whole) for whole in (True, False))
    literal.network.load_state_dict(packed.network.state_dict())
    rows = np.arange(len(FRAMES))
    frames, _ = packed.speech.clips.pad(rows, 96)
    expected = normalize(packed.network["speech"](frames, torch.full((len(rows),), 96)))
    torch.testing.assert_close(normalize(literal.speech(literal.speech.clips, rows)), expected)


def test_reads_padding_needs_trim_false():
    with pytest.raises(ValueError, match=r"reads_padding: .* set trim to false"):
        VASE(**PAPER | {"reads_padding": True, "trim": True})


def test_image_features_scale_invariant_and_zeros_allowed(split):
    method = ready(split)
    view = split.views["image"]
    scaled = view.features * np.array([1e-3, 1, 7, 100, 0], np.float32)[:, None]
    found = method.embed("image", View(scaled, view.items, view.ids, {}))
    np.testing.assert_allclose(found[:4], method.embed("image", view)[:4], atol=1e-6)
    assert np.isfinite(found).all()


def test_loss_finite_for_clips_shorter_than_a_step(rng):
    lengths = np.arange(16)
    images = rng.standard_normal((16, 12)).astype(np.float32)
    method = ready(make_split(images, noise(rng, lengths), lengths), trim=True)
    loss = method.loss(Batch(lengths, lengths))
    loss.backward()
    assert math.isfinite(loss.item())
    assert all(p.grad.isfinite().all() for p in method.network.parameters())


def test_gradients_clipped_together(split):
    method = ready(split, margin=100.0, clip=2.0)
    method.loss(drawn(method)[0]).backward()
    before = [p.grad.clone() for p in method.network.parameters()]
    norm = math.sqrt(sum(g.square().sum().item() for g in before))
    assert norm > 2
    method.clip()
    for parameter, gradient in zip(method.network.parameters(), before, strict=True):
        torch.testing.assert_close(parameter.grad, gradient * 2 / norm, rtol=1e-4, atol=1e-8)


def test_linear_maps_glorot_uniform(split):
    network = ready(split, dims=200).network
    for layer in (network["image"], network["speech"].project):
        bound = math.sqrt(6 / sum(layer.weight.shape))
        assert 0.98 * bound < layer.weight.abs().max() <= bound
        assert (layer.bias == 0).all()


def test_log_mean_cosines_of_pairs_and_others(split):
    method = ready(split)
    method.network.eval()
    clips = np.array([0, 2, 3])
    method.loss(Batch(OWNERS[clips], clips))
    v = method.embed("image", split.views["image"])[OWNERS[clips]]
    scores = v @ method.embed("speech", split.views["speech"])[clips].T
    found = method.log()
    assert found["positives"] == pytest.approx(np.diag(scores).mean(), abs=1e-5)
    assert found["negatives"] == pytest.approx((scores.sum() - np.trace(scores)) / 6, abs=1e-5)


def test_validation_score_needs_no_labels(split):
    labelled = replace(split, labels=np.eye(len(split.items), dtype=bool))
    method = ready(labelled)
    assert method.validate(labelled) == {"validation": selection_score(method, labelled)}


@pytest.mark.parametrize(("cycle_weight", "texts"), [(0.0, False), (0.05, True)])
def test_fit_32_pairs_by_heart(rng, cycle_weight, texts):
    split = make_split(
        rng.standard_normal((32, 20)).astype(np.float32),
        noise(rng, rng.integers(16, 32, 32)),
        np.arange(32),
        sentences(rng, 32) if texts else None,
    )
    size = {"dims": 32, "width": 0.125, "max_frames": 32}
    speed = {"learning_rate": 2e-3, "epochs": 60, "decay_every": 60}
    method = VASE(**SMALL | size | speed | {"cycle_weight": cycle_weight})
    method.fit(split, split, Run(0))
    assert selection_score(method, split) == 600


def test_frames_of_another_width(rng):
    split = make_split(rng.standard_normal((3, 5)), noise(rng, [20, 30, 16], 7), np.arange(3))
    method = placed(VASE(**SMALL), split)
    assert method.network["speech"].steps.convolutions.layers[0].in_channels == 7
    assert method.embed("speech", split.views["speech"]).shape == (3, SMALL["dims"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": "image", "speech": None}, "image and speech.*, but has image, text"),
        ({"image": "speech"}, "view 'image'.*plug-in `pictures`"),
        ({"speech": "image"}, "view 'speech'.*sequences of frames"),
    ],
)
def test_unsuitable_views_refused(split, change, message):
    views = split.views | {name: split.views.get(source) for name, source in change.items()}
    with pytest.raises(CrossmodalError, match=message):
        VASE(**SMALL).build({name: view for name, view in views.items() if view})


def test_image_network_for_files_alone(split, pictures):
    with pytest.raises(CrossmodalError, match="has image files, but image_network is None"):
        VASE(**SMALL).build(pictures.views)
    with pytest.raises(CrossmodalError, match="has features, but image_network is squeezenet"):
        VASE(**FILES).build(split.views)
    with pytest.raises(ValueError, match="finetuning_rate: needs an image_network"):
        VASE(**SMALL | {"finetuning_rate": 1e-5})


def test_texts_of_other_captions_refused(tri_modal):
    text = tri_modal.views["text"]
    others = View(text.features, text.items, text.ids[::-1], text.meta)
    with pytest.raises(CrossmodalError, match="view 'text': its rows are other captions"):
        ready(Split(tri_modal.items, tri_modal.labels, tri_modal.views | {"text": others}))


def test_several_rows_of_an_image_refused(split):
    several = View(np.zeros((6, 12), np.float32), np.arange(6) // 2, list("012345"), {})
    views = split.views | {"image": several}
    with pytest.raises(CrossmodalError, match="6 rows for 5 items"):
        ready(Split(split.items, split.labels, views))


def test_image_network_learns_in_the_second_phase(pictures):
    method = placed(VASE(**FILES), pictures)
    before = {name: value.clone() for name, value in method.network["trunk"].state_dict().items()}
    for phase in (0, 1):
        method.phase = phase
        optimizer = method.optimizer()
        optimizer.zero_grad()
        method.network.train()
        method.loss(drawn(method)[0]).backward()
        optimizer.step()
        after = method.network["trunk"].state_dict()
        changed = [name for name, value in before.items() if not torch.equal(value, after[name])]
        grown = [p.grad is not None for p in method.network["trunk"].parameters()]
        assert (bool(changed), any(grown)) == (phase == 1, phase == 1)


@pytest.mark.parametrize("network", ["resnet50", "efficientnet_lite0", "timm/test_resnet"])
@pytest.mark.usefixtures("small_crops")
def test_batch_statistics_move_in_the_second_phase(network, rng):
    split = make_split(image_files(rng, 3), noise(rng, [20, 30, 40]), np.arange(3))
    method = placed(VASE(**FILES | {"image_network": network}), split)
    mean = method.network["trunk"].network.bn1.running_mean
    for phase in (0, 1):
        method.phase, before = phase, mean.clone()
        method.optimizer()
        method.network.train()
        method.loss(drawn(method)[0])
        assert torch.equal(mean, before) == (phase == 0)


def test_stored_crops_equal_the_frozen_networks(pictures):
    method = placed(VASE(**FILES), pictures)
    method.loss(drawn(method)[0])
    stored = torch.from_numpy(method.images.stored)
    assert (stored.shape, stored.dtype) == ((5, 10, 512), torch.float16)
    method.network.eval()
    with torch.no_grad():
        centre = torch.cat([*method.images.read(pictures.views["image"])])
    torch.testing.assert_close(stored[:, 0].float(), centre, rtol=1e-2, atol=1e-2)


def test_threads_of_image_readers():
    assert (VASE(**SMALL).threads, VASE(**FILES).threads) == (1, 8)
