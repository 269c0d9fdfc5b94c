import pytest
import torch
from safetensors.torch import save_file

from crossmodal.errors import CrossmodalError
from crossmodal.pretrained.backbones import (
    NETWORKS,
    Maps,
    Vectors,
    random_network,
    trained_network,
    untrained,
)
from crossmodal.pretrained.read_out import ReadOut


@pytest.fixture
def images():
    return torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def squeezenet():
    return random_network("squeezenet1_1", seed=0)


def save(network, path, **more):
    save_file({**network.state_dict(), **more}, path)
    return path


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("vgg16", 134_260_544),
        ("vgg19", 139_570_240),
        ("resnet50", 23_508_032),
        ("resnet152", 58_143_808),
        ("squeezenet1_1", 722_496),
        ("efficientnet_lite0", 4_652_008 - 1_281_000),
    ],
)
def test_sizes_without_the_classifier(name, parameters):
    assert sum(p.numel() for p in untrained(name).parameters()) == parameters


@pytest.mark.parametrize("name", NETWORKS)
def test_vectors_and_maps_have_the_stated_widths(images, name):
    network = random_network(name, seed=0)
    facts = NETWORKS[name]
    maps = Maps(network, name)(images)
    assert maps.shape[:2] == (2, facts.maps_width)
    assert Vectors(network, name)(images).shape == (2, facts.width)
    assert maps.min() >= 0


@pytest.mark.parametrize("name", ["resnet50", "squeezenet1_1"])
def test_random_weights_keep_activations_of_order_one(images, name):
    network = ReadOut(random_network(name, seed=0), "post")
    values, layers = network(images), network.layers
    sizes = [values[:, layer.start : layer.stop].pow(2).mean().sqrt() for layer in layers]
    assert 0.1 < min(sizes) <= max(sizes) < 10


def test_the_seed_decides_the_random_weights(squeezenet):
    again, other = (random_network("squeezenet1_1", seed).state_dict() for seed in (0, 1))
    for key, value in squeezenet.state_dict().items():
        assert torch.equal(value, again[key])
    assert not torch.equal(again["features.0.weight"], other["features.0.weight"])


def test_networks_are_frozen_and_repeat_bit_for_bit(images):
    network = random_network("resnet50", seed=0)
    assert not any(p.requires_grad for p in network.parameters())
    assert torch.equal(network(images), network(images))


def test_saved_weights_come_back_with_or_without_the_classifier(tmp_path, images, squeezenet):
    bare = save(squeezenet, tmp_path / "bare.safetensors")
    whole = save(
        squeezenet,
        tmp_path / "whole.safetensors",
        **{"classifier.1.weight": torch.zeros(1000, 512, 1, 1)},
    )
    expected = squeezenet(images)
    for path in (bare, whole):
        assert torch.equal(trained_network("squeezenet1_1", path)(images), expected)


def test_weights_without_counts_of_batches_load(tmp_path, images):
    network = random_network("resnet50", seed=0)
    state = {k: v for k, v in network.state_dict().items() if "num_batches" not in k}
    save_file(state, tmp_path / "old.safetensors")
    loaded = trained_network("resnet50", tmp_path / "old.safetensors")
    assert torch.equal(loaded(images), network(images))


def test_weights_that_do_not_fit_are_named(tmp_path, squeezenet):
    path = tmp_path / "w.safetensors"
    state = squeezenet.state_dict()
    save_file({k: v for k, v in state.items() if k != "features.0.bias"}, path)
    with pytest.raises(
        CrossmodalError, match=r"w\.safetensors: 1 weights .* missing: features.0.b"
    ):
        trained_network("squeezenet1_1", path)
    save(squeezenet, path, extra=torch.zeros(1))
    with pytest.raises(CrossmodalError, match="unexpected: extra"):
        trained_network("squeezenet1_1", path)
    save_file({**state, "features.0.bias": torch.zeros(3)}, path)
    with pytest.raises(CrossmodalError, match=r"another shape: features\.0\.bias"):
        trained_network("squeezenet1_1", path)


@pytest.mark.parametrize("content", [b"", b"\x80\x02}q\x00."])
def test_a_file_that_is_no_safetensors_is_named(tmp_path, content):
    path = tmp_path / "w.safetensors"
    path.write_bytes(content)
    with pytest.raises(CrossmodalError, match=r"w\.safetensors: not a safetensors file"):
        trained_network("squeezenet1_1", path)
