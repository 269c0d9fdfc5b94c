import io

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn.functional import adaptive_avg_pool2d

from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.features.activations import Activations
from crossmodal.features.maps import Maps
from crossmodal.images.crops import Preparation
from crossmodal.pretrained import backbones

OPTIONS = {"backbone": "squeezenet1_1", "weights": "random", "resize": "warp", "seed": 3}


@pytest.fixture
def prepared(tmp_path, rng):
    with Writer(tmp_path) as out:
        for number in range(2):
            stream = io.BytesIO()
            pixels = rng.integers(0, 256, (40, 60, 3), np.uint8)
            Image.fromarray(pixels).save(stream, "PNG")
            out.item(f"{number}", "train", image=stream.getvalue(), suffix=".png")
            out.caption(f"{number}", f"{number}", text="words")
    return Prepared(tmp_path)


@pytest.mark.parametrize("side", [13, 3])
def test_rows_are_the_last_maps_of_the_centre(prepared, side):
    feature = Maps(**OPTIONS | {"layers": "last", "side": side})
    feature.setup(None)
    found = feature.extract(prepared, prepared.items, {})
    assert found.shape == (2, 512, side, side)
    assert found.dtype == np.float16
    squares = [Preparation().square(prepared.read(i.image), "x", "warp") for i in prepared.items]
    network = backbones.random_network("squeezenet1_1", 3)
    with torch.inference_mode():
        maps = network.features(Preparation().crops(torch.stack(squares), 1))
    np.testing.assert_allclose(found, adaptive_avg_pool2d(maps, side), rtol=2e-3, atol=2e-3)


def test_larger_crop_has_larger_maps_of_the_same_view(prepared):
    """Twice the side: the whole is 512 pixels, of which the network sees 448."""
    feature = Maps(**OPTIONS | {"layers": "last", "side": 27, "crop": 448})
    feature.setup(None)
    preparation = Preparation(side=512, crop=448)
    squares = [preparation.square(prepared.read(i.image), "x", "warp") for i in prepared.items]
    network = backbones.random_network("squeezenet1_1", 3)
    with torch.inference_mode():
        maps = network.features(preparation.crops(torch.stack(squares), 1))
    assert maps.shape[2:] == (27, 27)
    found = feature.extract(prepared, prepared.items, {})
    np.testing.assert_allclose(found, maps, rtol=2e-3, atol=2e-3)


def test_mean_of_the_maps_is_the_one_layer_embedding(prepared):
    network = backbones.random_network("resnet50", 0)
    images = torch.randn(1, 3, 64, 64)
    with torch.inference_mode():
        maps = backbones.Maps(network, "resnet50")(images)
        vectors = backbones.Vectors(network, "resnet50")(images)
    assert maps.shape == (1, 2048, 2, 2)
    torch.testing.assert_close(maps.mean((2, 3)), vectors)


def test_block_map_means_are_block_activations(prepared):
    maps = Maps(**OPTIONS | {"layers": "blocks", "side": 1})
    means = Activations(**OPTIONS | {"layers": "blocks", "crops": 1})
    for feature in (maps, means):
        feature.setup(None)
    found, expected = (f.extract(prepared, prepared.items, {}) for f in (maps, means))
    assert found.shape == (2, 2_624, 1, 1)
    np.testing.assert_allclose(found[:, :, 0, 0], expected, rtol=2e-3, atol=2e-3)


def test_networks_without_blocks_have_last_maps_alone():
    with pytest.raises(ValueError, match="layers: vgg16 has no blocks; choose 'last'"):
        Maps(**OPTIONS | {"backbone": "vgg16", "layers": "blocks", "side": 3})


def test_maps_of_a_network_of_timms_are_its_own(prepared):
    options = OPTIONS | {"backbone": "timm/test_mambaout", "layers": "last"}
    feature = Maps(**options, side=5)
    feature.setup(None)
    found = feature.extract(prepared, prepared.items, {})
    network, preparation = backbones.random_network("timm/test_mambaout", 3), feature.preparation
    squares = [preparation.square(prepared.read(i.image), "x", "warp") for i in prepared.items]
    with torch.inference_mode():
        maps = network.forward_features(preparation.crops(torch.stack(squares), 1))
    np.testing.assert_allclose(found, maps.permute(0, 3, 1, 2), rtol=2e-3, atol=2e-3)
    with pytest.raises(ValueError, match="timm/test_vit ends in no maps"):
        Maps(**options | {"backbone": "timm/test_vit"}, side=5)
    with pytest.raises(ValueError, match="has no blocks; choose 'last'"):
        Maps(**options | {"layers": "blocks"}, side=5)
