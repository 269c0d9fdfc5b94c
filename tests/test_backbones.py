from typing import get_args

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from crossmodal import backbones
from crossmodal.backbones import (
    NETWORKS,
    Name,
    official_weights,
    random_network,
    read_out,
    trained_network,
    untrained,
)
from crossmodal.errors import CrossmodalError

VGG16_STOPS = [64, 128, 256, 384, 640, 896, 1152, 1664, 2176, 2688, 3200, 3712, 4224, 8320, 12416]


@pytest.fixture
def images():
    return torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def squeezenet():
    return random_network("squeezenet1_1", seed=0)


def save(network, path, **more):
    save_file({**network.state_dict(), **more}, path)
    return path


def test_columns_of_vgg16_are_those_of_the_paper():
    layers = read_out(untrained("vgg16"), "post")[1]
    assert [layer.stop for layer in layers] == VGG16_STOPS
    assert [layer.start for layer in layers] == [0, *VGG16_STOPS[:-1]]
    assert [layer.name for layer in layers][-3:] == ["features.28", "classifier.0", "classifier.3"]


@pytest.mark.parametrize(
    ("name", "width", "layers", "parameters"),
    [
        ("vgg16", 12_416, 15, 134_260_544),
        ("vgg19", 13_696, 18, 139_570_240),
        # 53 convolutions, less 4 projections of shortcuts
        ("resnet50", 22_720, 49, 23_508_032),
        ("squeezenet1_1", 2_944, 25, 722_496),
    ],
)
def test_sizes_without_the_classifier(name, width, layers, parameters):
    network = untrained(name)
    assert sum(p.numel() for p in network.parameters()) == parameters
    found = read_out(network, "post")[1]
    assert (found[-1].stop, len(found)) == (width, layers)


@pytest.mark.parametrize("tap", ["pre", "post"])
def test_reads_the_hand_mean_of_a_toy_network(tap):
    toy = nn.Sequential(nn.Conv2d(1, 2, 1), nn.ReLU(inplace=True))
    toy[0].weight.data = torch.tensor([1.0, -1.0]).reshape(2, 1, 1, 1)
    toy[0].bias.data = torch.zeros(2)
    image = torch.tensor([[1.0, 2.0], [-3.0, 4.0]])[None, None]
    expected = {"pre": [[1.0, -1.0]], "post": [[7 / 4, 3 / 4]]}[tap]
    assert read_out(toy, tap)[0](image).tolist() == expected


@pytest.mark.parametrize("tap", ["pre", "post"])
def test_vgg16_agrees_with_a_walk_through_its_modules(images, tap):
    network = random_network("vgg16", seed=0)
    expected, values = [], images[:1]
    for stage in (network.features, network.avgpool, nn.Flatten(), network.classifier):
        for module in stage if isinstance(stage, nn.Sequential) else [stage]:
            before = values.clone()
            values = module(values)
            if isinstance(module, nn.ReLU):
                read = before if tap == "pre" else values
                expected.append((read.mean((2, 3)) if read.dim() == 4 else read).clone())
    # fully connected layers are those of the sheet: classifier[:2] and classifier[:5]
    found = read_out(network, tap)[0](images[:1])
    torch.testing.assert_close(found, torch.cat(expected, 1), rtol=1e-4, atol=1e-5)


def test_the_end_of_resnet50_is_its_pooled_output(images):
    network = random_network("resnet50", seed=0)
    found = read_out(network, "post")[0](images)
    torch.testing.assert_close(found[:, -2048:], network(images), rtol=1e-4, atol=1e-5)
    stem = network.relu(network.bn1(network.conv1(images))).mean((2, 3))
    torch.testing.assert_close(found[:, :64], stem, rtol=1e-4, atol=1e-5)


def test_the_end_of_squeezenet_is_its_pooled_output(images, squeezenet):
    found = read_out(squeezenet, "post")[0](images)
    expected = squeezenet.features(images).mean((2, 3))
    torch.testing.assert_close(found[:, -512:], expected, rtol=1e-4, atol=1e-5)


def test_only_the_input_of_the_relu_has_negatives(images, squeezenet):
    before, after = (read_out(squeezenet, tap)[0](images) for tap in ("pre", "post"))
    assert before.min() < 0 <= after.min()
    assert (after >= before - 1e-6).all()


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("vgg16", "classifier.4"),
        ("resnet50", "layer4.2.relu"),
        ("squeezenet1_1", "features.12.expand3x3_activation"),
    ],
)
def test_nothing_runs_after_the_last_layer(name, last):
    graph = read_out(untrained(name), "post")[0].graph
    assert [node.target for node in graph.nodes if node.op == "call_module"][-1] == last


@pytest.mark.parametrize("name", ["resnet50", "squeezenet1_1"])
def test_random_weights_keep_activations_of_order_one(images, name):
    network, layers = read_out(random_network(name, seed=0), "post")
    values = network(images)
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


@pytest.mark.parametrize("name", get_args(Name))
def test_official_weights_are_the_first_of_torchvision(name):
    from torchvision.models import get_model_weights

    url, file = official_weights(name)
    assert url == get_model_weights(name).IMAGENET1K_V1.url
    assert file == url.split("/")[-1].replace(".pth", ".safetensors")
    assert NETWORKS.keys() == set(get_args(Name))


def test_published_weights_become_safetensors(tmp_path, squeezenet):
    torch.save(squeezenet.state_dict(), tmp_path / "in.pth")
    backbones.convert(tmp_path / "in.pth", tmp_path / "out.safetensors")
    found = load_file(tmp_path / "out.safetensors")
    assert found.keys() == squeezenet.state_dict().keys()
    assert all(torch.equal(found[k], v) for k, v in squeezenet.state_dict().items())


@pytest.mark.parametrize("content", [None, b"", b"<html>", b"\x80\x02cos\nsystem\n(S'true'\ntR."])
def test_a_file_without_weights_is_named(tmp_path, content):
    if content is not None:
        (tmp_path / "in.pth").write_bytes(content)
    with pytest.raises(CrossmodalError, match=r"in\.pth: no weights"):
        backbones.convert(tmp_path / "in.pth", tmp_path / "out.safetensors")
    assert not (tmp_path / "out.safetensors").exists()
