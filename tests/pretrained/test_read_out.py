import copy

import pytest
import torch
from torch import nn

from crossmodal.pretrained.backbones import NETWORKS, random_network, untrained
from crossmodal.pretrained.read_out import ReadOut, fold

VGG16_STOPS = [64, 128, 256, 384, 640, 896, 1152, 1664, 2176, 2688, 3200, 3712, 4224, 8320, 12416]


@pytest.fixture
def images():
    return torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))


def test_columns_of_vgg16_are_those_of_the_paper():
    layers = ReadOut(untrained("vgg16"), "post").layers
    assert [layer.stop for layer in layers] == VGG16_STOPS
    assert [layer.start for layer in layers] == [0, *VGG16_STOPS[:-1]]
    assert [layer.name for layer in layers][-3:] == ["features.28", "classifier.0", "classifier.3"]


@pytest.mark.parametrize(
    ("name", "width", "layers"),
    [
        ("vgg16", 12_416, 15),
        ("vgg19", 13_696, 18),
        # 53 convolutions, less 4 projections of shortcuts
        ("resnet50", 22_720, 49),
        ("resnet152", 71_872, 151),
        ("squeezenet1_1", 2_944, 25),
        ("efficientnet_lite0", 21_008, 49),
    ],
)
def test_widths_of_all_layers(name, width, layers):
    found = ReadOut(untrained(name), "post").layers
    assert (found[-1].stop, len(found)) == (width, layers)


@pytest.mark.parametrize(
    ("name", "width", "layers"),
    [
        ("resnet50", 64 + 3 * 256 + 4 * 512 + 6 * 1024 + 3 * 2048, 17),
        ("resnet152", 64 + 3 * 256 + 8 * 512 + 36 * 1024 + 3 * 2048, 51),
        ("squeezenet1_1", 64 + 2 * (128 + 256 + 384 + 512), 9),
        ("efficientnet_lite0", 3_120, 18),
        ("efficientnet_lite1", 3_568, 23),
        ("efficientnet_lite2", 3_768, 23),
    ],
)
def test_widths_of_stem_blocks_and_head(name, width, layers):
    found = ReadOut(untrained(name), "post", NETWORKS[name].blocks).layers
    assert (found[-1].stop, len(found)) == (width, layers)
    assert found[-1].stop - found[-1].start == NETWORKS[name].width


@pytest.mark.parametrize("tap", ["pre", "post"])
def test_reads_the_hand_mean_of_a_toy_network(tap):
    toy = nn.Sequential(nn.Conv2d(3, 2, 1), nn.ReLU(inplace=True)).requires_grad_(False)
    toy[0].weight.data = torch.tensor([[1.0, 0, 0], [-1.0, 0, 0]]).reshape(2, 3, 1, 1)
    toy[0].bias.data = torch.zeros(2)
    image = torch.tensor([[1.0, 2.0], [-3.0, 4.0]]).repeat(1, 3, 1, 1)
    expected = {"pre": [[1.0, -1.0]], "post": [[7 / 4, 3 / 4]]}[tap]
    assert ReadOut(toy, tap)(image).tolist() == expected


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
    found = ReadOut(network, tap)(images[:1])
    torch.testing.assert_close(found, torch.cat(expected, 1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("blocks", ["", NETWORKS["resnet50"].blocks])
def test_stem_and_end_of_resnet50(images, blocks):
    network = random_network("resnet50", seed=0)
    end = network(images)
    stem = network.relu(network.bn1(network.conv1(images))).mean((2, 3))
    found = ReadOut(network, "post", blocks)(images)
    torch.testing.assert_close(found[:, -2048:], end, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(found[:, :64], stem, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("blocks", ["", NETWORKS["squeezenet1_1"].blocks])
def test_the_end_of_squeezenet_is_its_pooled_output(images, blocks):
    network = random_network("squeezenet1_1", seed=0)
    found = ReadOut(network, "post", blocks)(images)
    expected = network.features(images).mean((2, 3))
    torch.testing.assert_close(found[:, -512:], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("blocks", ["", NETWORKS["efficientnet_lite0"].blocks])
def test_efficientnet_lite_agrees_with_a_walk_through_its_blocks(images, blocks):
    network = random_network("efficientnet_lite0", seed=0)
    values = network.bn1(network.conv_stem(images))
    expected = [values]
    for stage in network.blocks:
        for block in stage:
            values = block(values)
            expected.append(values)
    expected.append(network.bn2(network.conv_head(values)))
    expected = torch.cat([values.mean((2, 3)) for values in expected], 1)
    reader = ReadOut(network, "post", blocks)
    found = reader(images)
    torch.testing.assert_close(found[:, -1280:], expected[:, -1280:], rtol=1e-4, atol=1e-5)
    if blocks:
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_only_the_input_of_the_activation_has_negatives(images):
    before, after = (
        ReadOut(random_network("squeezenet1_1", seed=0), tap)(images) for tap in ("pre", "post")
    )
    assert before.min() < 0 <= after.min()
    assert (after >= before - 1e-6).all()


def test_a_read_out_holds_no_values_of_another_call(images):
    reader = ReadOut(random_network("squeezenet1_1", seed=0), "post")
    both = reader(images)
    assert torch.equal(reader(images), both)
    torch.testing.assert_close(reader(images[1:]), both[1:], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["resnet50", "efficientnet_lite0"])
def test_folded_batch_norms_change_no_value(images, name):
    network = random_network(name, seed=0)
    generator = torch.Generator().manual_seed(1)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):  # statistics that are not those of a new network
            module.running_mean.normal_(0, 0.1, generator=generator)
            module.running_var.uniform_(0.5, 2, generator=generator)
    folded = fold(copy.deepcopy(network))
    assert not any(isinstance(module, nn.BatchNorm2d) for module in folded.modules())
    expected = network(images)
    assert (folded(images) - expected).abs().max() <= 1e-5 * expected.abs().max()
