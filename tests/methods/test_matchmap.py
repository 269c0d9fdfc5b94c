from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import conv2d, normalize

from crossmodal.data.split import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.io.bundles import write_bundle
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods.matchmap import Matchmap
from crossmodal.training.pairs import Batch
from tests.methods.spoken import (
    FRAMES,
    OWNERS,
    count,
    drawn,
    image_files,
    make_split,
    noise,
    placed,
)
from tests.project_params import PARAMS

PAPER = PARAMS.plugin("methods", "misa")["options"] | {"trim": False}
FILES = {"image_network": "squeezenet1_1", "image_weights": "random"}
SMALL = PAPER | {"width": 0.02, "max_frames": 96}
GLOBAL = SMALL | {"similarity": "sisa", "unit_speech": True, "image_kernel": 1}
IMAGE, SPEECH = ("image", "speech"), ("speech", "image")


@pytest.fixture
def split(rng):
    """Five images as maps with one to three clips each, of 1 to 130 frames."""
    maps = rng.standard_normal((5, 8, 3, 2)).astype(np.float16)
    return make_split(maps, noise(rng, FRAMES), OWNERS)


@pytest.fixture
def vectors(rng):
    """The same with vectors."""
    images = rng.standard_normal((5, 8)).astype(np.float32)
    return make_split(images, noise(rng, FRAMES), OWNERS)


def embedded(method, split):
    return [method.embed(m, split.views[m]) for m in ("image", "speech")]


@pytest.mark.parametrize(
    ("image", "kernel", "parameters", "side"),
    [("vgg16", 3, 19_434_304, 14), ("resnet50", 1, 25_606_208, 7)],
)
def test_image_branch_as_published(rng, image, kernel, parameters, side):
    options = PAPER | {"image_network": image, "image_kernel": kernel, "image_weights": "imagenet"}
    split = make_split(image_files(rng, 2), noise(rng, [20, 30]), np.arange(2))
    with torch.device("meta"):
        network = Matchmap(**options).build(split.views)
    assert count(network["trunk"]) + count(network["image"]) == parameters
    assert all(p.requires_grad for p in network.parameters())
    assert count(network["speech"]) == 15_965_570
    network.to("meta")
    positions = network["image"](network["trunk"](torch.empty(1, 3, 224, 224, device="meta")))
    assert positions.shape == (1, side * side, 1024)


@pytest.mark.parametrize("trim", [True, False])
@pytest.mark.parametrize("kind", ["sisa", "misa", "sima"])
def test_scores_of_maps_and_valid_steps(split, kind, trim):
    method = placed(Matchmap(**SMALL | {"similarity": kind, "trim": trim}), split)
    scores = method.score(*embedded(method, split), IMAGE)
    maps = torch.from_numpy(split.views["image"].features).float()
    image = method.network["image"]
    positions = conv2d(maps, image.weight, image.bias, padding=1).flatten(2)  # (5, D, 6)
    speech = split.views["speech"].features
    for clip in range(len(OWNERS)):
        steps, counts = method.network["speech"](
            *method.speech.pad(method.speech.clips, np.array([clip]))
        )
        assert counts.item() == max(1, min(len(speech[clip]), 96) // 16)
        matchmap = (positions.transpose(1, 2) @ steps[0, : counts.item()].T).detach()  # (5, 6, t)
        expected = {
            "sisa": matchmap.mean((1, 2)),
            "misa": matchmap.amax(1).mean(1),
            "sima": matchmap.amax(2).mean(1),
        }[kind]
        np.testing.assert_allclose(scores[:, clip], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["sisa", "misa", "sima"])
def test_scores_equal_in_both_directions(split, kind):
    method = placed(Matchmap(**SMALL | {"similarity": kind}), split)
    images, clips = embedded(method, split)
    scores, near = method.score(images, clips, IMAGE), {"rtol": 1e-5, "atol": 1e-6}
    np.testing.assert_allclose(method.score(clips, images, SPEECH), scores.T, **near)
    np.testing.assert_allclose(method.score(images[3:], clips, IMAGE), scores[3:], **near)


def test_state_round_trip(split):
    method = placed(Matchmap(**SMALL), split)
    again = Matchmap(**SMALL)
    again.restore(method.state(), split.views)
    np.testing.assert_array_equal(
        again.embed("speech", split.views["speech"]), embedded(method, split)[1]
    )


def test_global_model_inner_product_with_a_unit_clip(vectors):
    method = placed(Matchmap(**GLOBAL | {"speech_network": "harwath2016"}), vectors)
    scores = method.score(*embedded(method, vectors), IMAGE)
    images = method.network["image"](
        torch.from_numpy(vectors.views["image"].features)[:, :, None, None]
    )[:, 0]
    steps, counts = method.network["speech"](*method.speech.pad(method.speech.clips, np.arange(9)))
    means = torch.stack([s[:c].mean(0) for s, c in zip(steps, counts.tolist(), strict=True)])
    expected = (images @ normalize(means).T).detach()
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("impostors", ["random", "semi-hard"])
@pytest.mark.parametrize("kind", ["sisa", "misa", "sima"])
def test_loss_finite_for_clips_shorter_than_a_step(rng, kind, impostors):
    lengths = np.arange(16)
    maps = rng.standard_normal((16, 8, 2, 2)).astype(np.float16)
    options = SMALL | {"similarity": kind, "impostors": impostors, "trim": True}
    method = placed(Matchmap(**options), make_split(maps, noise(rng, lengths), lengths))
    loss = method.loss(Batch(lengths, lengths))
    loss.backward()
    assert loss.isfinite()
    assert all(p.grad.isfinite().all() for p in method.network.parameters())


def test_impostors_of_other_images(split, monkeypatch):
    method, seen = placed(Matchmap(**SMALL), split), []

    def draw(negatives):
        seen.append(negatives)
        return torch.zeros(len(negatives), dtype=int)

    monkeypatch.setattr("crossmodal.methods.matchmap.draw_impostors", draw)
    method.loss(Batch(OWNERS, np.arange(9)))
    np.testing.assert_array_equal(seen[0], OWNERS[:, None] != OWNERS)


@pytest.mark.parametrize(("epoch", "rate"), [(0, 1e-3), (39, 1e-3), (40, 1e-4), (80, 1e-5)])
def test_learning_rate_steps_down(epoch, rate):
    assert Matchmap(**PAPER).learning_rate_at(epoch, 0) == pytest.approx(rate)


def test_image_features_zscored_by_training_statistics(split):
    maps = split.views["image"].features.astype(np.float32)
    scores = (maps - maps.mean(0)) / maps.std(0)
    view = replace(split.views["image"], features=scores)
    scaled = Split(split.items, split.labels, split.views | {"image": view})
    scaled_here, expected = (
        placed(Matchmap(**SMALL | {"scaling": kind}), given)
        for kind, given in (("zscore", split), ("raw", scaled))
    )
    again = Matchmap(**SMALL | {"scaling": "zscore"})
    again.restore(scaled_here.state(), split.views)
    positions = expected.embed("image", scaled.views["image"])
    for method in (scaled_here, again):
        embedded = method.embed("image", split.views["image"])
        np.testing.assert_allclose(embedded, positions, atol=1e-5)
    for batch in drawn(scaled_here):
        rows = [m._positions(m.images.features(batch)) for m in (scaled_here, expected)]
        torch.testing.assert_close(*rows, atol=1e-5, rtol=1e-5)


def test_scaling_of_image_files_refused():
    with pytest.raises(ValueError, match=r"scaling: .* set it to raw"):
        Matchmap(**SMALL | {"image_network": "vgg16", "scaling": "zscore"})


def test_unit_speech_needs_sisa():
    with pytest.raises(ValueError, match="unit_speech: only with similarity sisa"):
        Matchmap(**PAPER | {"unit_speech": True})


@pytest.mark.parametrize(
    ("network", "positions"), [("squeezenet1_1", 169), ("timm/test_resnet", 25)]
)
def test_image_network_learns_from_files(rng, network, positions):
    split = make_split(image_files(rng, 3), noise(rng, [20, 30, 40]), np.arange(3))
    method = placed(Matchmap(**SMALL | FILES | {"image_network": network}), split)
    method.loss(drawn(method)[0]).backward()
    assert all(p.grad is not None for p in method.network["trunk"].parameters())
    assert method.embed("image", split.views["image"]).shape == (3, positions, 20)


def test_image_network_without_maps_refused():
    with pytest.raises(ValueError, match="image_network: timm/test_vit ends in no maps"):
        Matchmap(**SMALL | FILES | {"image_network": "timm/test_vit"})


@pytest.mark.parametrize("threads", [1, 3])
def test_crops_of_seed_epoch_and_batch(rng, threads):
    split = make_split(image_files(rng, 5), noise(rng, FRAMES), OWNERS)
    expected, method = (placed(Matchmap(**SMALL | FILES | {"batch": 4}), split) for _ in range(2))
    method.images.run = Run(0, threads=threads)
    first, again, other = drawn(expected, 0), drawn(method, 0), drawn(method, 1)
    for batch, same in zip(first, again, strict=True):
        np.testing.assert_array_equal(batch.captions, same.captions)
        assert batch.crops.shape == (4, 224, 224, 3)
        assert torch.equal(batch.crops, same.crops)
    assert not torch.equal(first[0].crops, other[0].crops)
    assert not torch.equal(first[0].crops, first[1].crops)


@pytest.mark.parametrize("kind", ["sisa", "misa", "sima"])
def test_fit_32_pairs_by_heart(rng, kind):
    maps = rng.standard_normal((32, 20, 2, 2)).astype(np.float32)
    split = make_split(maps, noise(rng, rng.integers(16, 33, 32)), np.arange(32))
    size = {"width": 0.06, "max_frames": 32, "similarity": kind, "impostors": "semi-hard"}
    speed = {"optimizer": "adam", "learning_rate": 3e-3, "epochs": 80, "decay_every": 80}
    method = Matchmap(**SMALL | size | speed)
    method.fit(split, split, Run(0))
    images, clips = embedded(method, split)
    scores = method.score(images, clips, IMAGE)
    assert (scores.argmax(1) == np.arange(32)).all()
    assert selection_score(method, split) == 600


def test_padding_level(split):
    method = placed(Matchmap(**SMALL | {"padding": -80.0}), split)
    frames, lengths = method.speech.pad(method.speech.clips, np.array([3, 8]))
    assert lengths.tolist() == [33, 96]
    assert (frames[0, 33:] == -80).all()
    np.testing.assert_array_equal(frames[1], split.views["speech"].features[8][:96])


def test_padding_to_the_longest_clip(split):
    method = placed(Matchmap(**SMALL | {"trim": True}), split)
    clips = method.embed("speech", split.views["speech"])
    assert clips.shape == (9, 6, 20)
    valid = np.maximum(1, np.minimum(FRAMES, 96) // 16)
    np.testing.assert_array_equal((~np.isnan(clips[:, :, 0])).sum(1), valid)
    one = View(split.views["speech"].features.take(np.array([4])), OWNERS[:1], ["4"], {})
    np.testing.assert_allclose(method.embed("speech", one)[0], clips[4, :4], atol=1e-5)


def with_initial(split, path, **options):
    """A method that begins with a file, before any step."""
    method = Matchmap(**SMALL | {"initial_weights": path.name} | options)
    method.run = Run(seed=1, weights=path)
    method.network = method.build(split.views)
    return method


def test_training_begins_with_a_files_weights(split, tmp_path):
    path = tmp_path / "fitted.safetensors"
    other = placed(Matchmap(**SMALL), split)
    write_bundle(path, other.network.state_dict(), {}, {})
    method = with_initial(split, path)
    assert method.weights == "fitted.safetensors"
    for name, value in other.network.state_dict().items():
        assert torch.equal(method.network.state_dict()[name], value)


def test_initial_weights_are_the_image_networks_too(rng, tmp_path):
    files = make_split(image_files(rng, 2), noise(rng, [20, 30]), np.arange(2))
    path = tmp_path / "org--name.safetensors"
    other = Matchmap(**SMALL | FILES)
    network = other.build(files.views)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(1)
    write_bundle(path, network.state_dict(), {}, {})
    found = with_initial(files, path, **FILES).network.state_dict()
    assert any(name.startswith("trunk.") for name in found)
    assert all(torch.equal(found[name], value) for name, value in network.state_dict().items())


def test_weights_of_another_network_are_refused(split, tmp_path):
    path = tmp_path / "other.safetensors"
    own = placed(Matchmap(**SMALL), split).network.state_dict()
    first, second = [name for name, value in own.items() if value.ndim > 1][:2]
    state = own | {first: own[first].flatten(), "stranger": torch.zeros(1)}
    del state[second]
    write_bundle(path, state, {}, {})
    with pytest.raises(CrossmodalError, match=r"other\.safetensors: has ") as caught:
        with_initial(split, path)
    assert all(name in str(caught.value) for name in (first, second, "stranger"))


def test_a_fit_from_a_file_differs_and_is_restored_without_it(split, tmp_path):
    path = tmp_path / "fitted.safetensors"
    write_bundle(path, placed(Matchmap(**SMALL), split).network.state_dict(), {}, {})
    short = {"epochs": 1, "batch": 4, "decay_every": 1}
    plain = Matchmap(**SMALL | short)
    begun = Matchmap(**SMALL | short | {"initial_weights": path.name})
    plain.fit(split, split, Run(seed=1))
    begun.fit(split, split, Run(seed=1, weights=path))
    assert any((plain.state()[name] != value).any() for name, value in begun.state().items())
    restored = Matchmap(**SMALL | short | {"initial_weights": path.name})
    restored.restore(begun.state(), split.views)
    for mine, theirs in zip(embedded(restored, split), embedded(begun, split), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_initial_weights_leave_no_choice_of_the_images():
    options = SMALL | FILES | {"image_weights": "imagenet", "initial_weights": "a.safetensors"}
    with pytest.raises(ValueError, match="initial_weights: have the image network's, too"):
        Matchmap(**options)
