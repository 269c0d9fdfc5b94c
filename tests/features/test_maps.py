import io

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn.functional import avg_pool2d

from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.features.maps import Maps
from crossmodal.images import backbones
from crossmodal.images.crops import Preparation


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


@pytest.mark.parametrize(("pool", "side"), [(1, 13), (4, 3)])
def test_rows_are_the_last_maps_of_the_centre(prepared, pool, side):
    feature = Maps(backbone="squeezenet1_1", weights="random", resize="warp", pool=pool, seed=3)
    feature.setup(None)
    found = feature.extract(prepared, prepared.items, {})
    assert found.shape == (2, 512, side, side)
    assert found.dtype == np.float16
    squares = [Preparation().square(prepared.read(i.image), "x", "warp") for i in prepared.items]
    network = backbones.random_network("squeezenet1_1", 3)
    with torch.inference_mode():
        maps = network.features(Preparation().crops(torch.stack(squares), 1))
    np.testing.assert_allclose(found, avg_pool2d(maps, pool), rtol=2e-3, atol=2e-3)


def test_mean_of_the_maps_is_the_one_layer_embedding(prepared):
    network = backbones.random_network("resnet50", 0)
    images = torch.randn(1, 3, 64, 64)
    with torch.inference_mode():
        maps = backbones.Maps(network, "resnet50")(images)
        vectors = backbones.Vectors(network, "resnet50")(images)
    assert maps.shape == (1, 2048, 2, 2)
    torch.testing.assert_close(maps.mean((2, 3)), vectors)
