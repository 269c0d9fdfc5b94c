"""Networks of timm's by name are read as timm itself runs them."""

import io

import numpy as np
import pytest
import torch
from PIL import Image
from pydantic import BaseModel, ValidationError
from safetensors.torch import save_file
from timm import create_model
from timm.data import create_transform, resolve_data_config
from torchvision.transforms import CenterCrop

from crossmodal.errors import CrossmodalError
from crossmodal.pretrained.backbones import (
    Maps,
    Name,
    Vectors,
    network,
    random_network,
    trained_network,
)
from crossmodal.pretrained.timm_read_out import OUTPUT, TimmReadOut
from crossmodal.pretrained.weights import weights_file

NAMES = ["timm/test_resnet", "timm/test_vit", "timm/test_convnext"]
# a block of each, its width, and where the positions are
BLOCKS = {
    "timm/test_resnet": ("layer3.0", 192, (2, 3)),
    "timm/test_vit": ("blocks.3", 64, 1),
    "timm/test_convnext": ("stages.2.blocks.1", 48, (2, 3)),
    "timm/test_mambaout": ("stages.1.blocks.0", 32, (1, 2)),  # channels last
}


class Choice(BaseModel):
    backbone: Name


def pictures(name, count=2):
    side = network(name).preparation.crop
    return torch.randn(count, 3, side, side, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", NAMES)
def test_the_vector_is_the_pooled_output_of_timm(name):
    made, images = random_network(name, seed=0), pictures(name)
    theirs = create_model(name.removeprefix("timm/"), num_classes=0).eval()
    theirs.load_state_dict(made.state_dict())
    with torch.inference_mode():
        expected = theirs(images)
    assert torch.equal(Vectors(made, name)(images), expected)
    for read in ("blocks", "last"):
        reader = TimmReadOut(made, read, images.shape[-1])
        found = reader(images)[:, -network(name).width :]
        torch.testing.assert_close(found, expected)
    assert (reader.layers[-1].name, reader.layers[-1].start) == (OUTPUT, 0)


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_is_the_mean_over_its_positions_or_tokens(name):
    block, width, positions = BLOCKS[name]
    made, images, seen = random_network(name, seed=0), pictures(name), []
    reader = TimmReadOut(made, "blocks", images.shape[-1])
    made.get_submodule(block).register_forward_hook(lambda _, inputs, output: seen.append(output))
    values = reader(images)
    (layer,) = (layer for layer in reader.layers if layer.name == block)
    assert layer.stop - layer.start == width
    torch.testing.assert_close(values[:, layer.start : layer.stop], seen[0].mean(positions))
    assert values.shape == (2, reader.layers[-1].stop)


def test_the_last_block_is_read_once_where_only_pooling_follows():
    resnet, vit = (
        [layer.name for layer in TimmReadOut(random_network(name, 0), "blocks", 160).layers]
        for name in NAMES[:2]
    )
    assert resnet == ["layer1.0", "layer2.0", "layer3.0", "layer4.0"]
    assert vit == [*(f"blocks.{i}" for i in range(6)), OUTPUT]


@pytest.mark.parametrize("name", ["resnet50", "efficientnet_lite0"])
def test_convolutions_are_those_of_the_papers_networks(name):
    ours, prefix = network(name), "tf_" * name.startswith("efficient")
    theirs = network(f"timm/{prefix}{name}")
    assert theirs.readouts == ours.readouts
    assert theirs.width == ours.width


def test_activations_are_read_after_convolutions():
    made, images, seen = random_network(NAMES[0], seed=0), pictures(NAMES[0]), []
    reader = TimmReadOut(made, "all", images.shape[-1])
    made.act1.register_forward_hook(lambda _, inputs, output: seen.append(output.clone()))
    values = reader(images)
    assert reader.layers[0].name == "conv1.2"
    assert "act1" in [layer.name for layer in reader.layers]
    (layer,) = (layer for layer in reader.layers if layer.name == "act1")
    torch.testing.assert_close(values[:, layer.start : layer.stop], seen[0].mean((2, 3)))


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_prepared_as_timm_does(name):
    noise = np.random.default_rng(0).integers(256, size=(40, 30, 3), dtype=np.uint8)
    picture = Image.fromarray(noise).resize((300, 300), Image.BICUBIC)
    stream = io.BytesIO()
    picture.save(stream, "PNG")
    preparation = network(name).preparation
    square = preparation.square(stream.getvalue(), "x", "short")
    config = resolve_data_config(create_model(name.removeprefix("timm/")).pretrained_cfg)
    expected = create_transform(**config)(picture)
    found = preparation.crops(square[None], 1)[0]
    step = 1 / 255 / min(config["std"])  # of a pixel's value
    assert (found - expected).abs().max() <= 1.01 * step


def test_odd_borders_are_cut_as_torchvision_does():
    preparation = network("timm/resnet50").preparation
    assert (preparation.side, preparation.crop) == (235, 224)
    square = torch.arange(235 * 235).reshape(1, 235, 235, 1).expand(-1, -1, -1, 3)
    expected = CenterCrop(224)(preparation.normalised(square))
    assert torch.equal(preparation.crops(square, 1), expected)


def test_maps_of_networks_that_end_in_some():
    for name, shape in (("test_resnet", (96, 5, 5)), ("test_mambaout", (64, 5, 5))):
        name = f"timm/{name}"
        found = Maps(random_network(name, 0), name)(pictures(name))
        assert found.shape == (2, *shape)
        assert network(name).maps_width == shape[0]
    assert network("timm/test_vit").maps_width == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides_the_random_weights(name):
    one, again, other = (random_network(name, seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(one[key], again[key]) for key in one)
    assert not all(torch.equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("name", NAMES)
def test_published_weights_come_without_their_classifier(tmp_path, name):
    whole = create_model(name.removeprefix("timm/")).eval()
    save_file(whole.state_dict(), tmp_path / "w.safetensors")
    images = pictures(name)
    with torch.inference_mode():
        expected = whole.forward_head(whole.forward_features(images), pre_logits=True)
        found = trained_network(name, tmp_path / "w.safetensors")(images)
    assert torch.equal(found, expected)
    with pytest.raises(CrossmodalError, match=r"w\.safetensors: .* of timm/test_nfnet are missing"):
        trained_network("timm/test_nfnet", tmp_path / "w.safetensors")


@pytest.mark.parametrize("architecture", ["shvit_s1"])
def test_heads_are_left_out_with_their_own_normalisation(tmp_path, architecture):
    theirs = create_model(architecture).eval()
    save_file(theirs.state_dict(), tmp_path / "w.safetensors")
    made = trained_network(f"timm/{architecture}", tmp_path / "w.safetensors")
    assert {k for k in theirs.state_dict() if k not in made.state_dict()}
    assert all(torch.equal(v, theirs.state_dict()[k]) for k, v in made.state_dict().items())


def test_published_weights_are_those_of_timms_repository():
    assert weights_file("timm/test_vit", "imagenet") == "timm--test_vit.r160_in1k.safetensors"
    tagged = weights_file("timm/resnet50.a3_in1k", "imagenet")
    assert tagged == "timm--resnet50.a3_in1k.safetensors"
    assert weights_file("timm/test_vit", "random") == ""
    with pytest.raises(CrossmodalError, match="timm/test_mambaout has no published weights"):
        weights_file("timm/test_mambaout", "imagenet")


@pytest.mark.parametrize(
    ("wrong", "proposed"),
    [
        ("timm/resnet5", "did you mean 'resnet50'"),
        ("timm/resnet50.a1_in2k", "'resnet50.a1_in1k'"),
        ("resnet5", r"did you mean 'resnet50' or 'resnet152'\?; or timm/NAME"),
        ("timm/vit_base_patch16_sapiens2", "1024 x 768 numbers"),
    ],
)
def test_an_unknown_network_has_similar_names_in_its_message(wrong, proposed):
    with pytest.raises(ValidationError, match=proposed):
        Choice(backbone=wrong)
