import io

import numpy as np
import pytest
import torch
from PIL import Image

from crossmodal.data.feature_file import Ragged
from crossmodal.errors import CrossmodalError
from crossmodal.images.crops import Preparation
from crossmodal.images.random_crops import Pictures

TORCHVISION = Preparation()


def encoded(image):
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return np.frombuffer(stream.getvalue(), np.uint8)


@pytest.fixture
def pictures():
    """Ramps: red grows to the right, green downwards; blue is the number of the image."""
    files = []
    for number, (height, width) in enumerate([(90, 60), (50, 70), (64, 64)]):
        pixels = np.zeros((height, width, 3), np.uint8)
        pixels[:, :, 0] = np.linspace(0, 255, width)
        pixels[:, :, 1] = np.linspace(0, 255, height)[:, None]
        pixels[:, :, 2] = 80 * number
        files.append(encoded(Image.fromarray(pixels)))
    return Pictures(Ragged.concatenate(files), ["a", "b", "c"], TORCHVISION)


def test_squares_are_those_of_the_features(pictures):
    rows = np.array([2, 0])
    expected = [TORCHVISION.square(pictures.files[row].tobytes(), "x", "short") for row in rows]
    assert torch.equal(pictures.squares(rows), torch.stack(expected))


def test_random_crops_parts_of_their_image_half_mirrored(pictures):
    rows = np.tile([2, 0, 1], 10)
    found = pictures.random_crops(rows, seed=0, mirror=True).permute(0, 3, 1, 2).float()
    assert found.shape == (30, 3, 224, 224)
    np.testing.assert_allclose(found[:, 2].mean((1, 2)), 80 * rows, atol=0.5)
    right = found[:, 0, :, -1].mean(1) > found[:, 0, :, 0].mean(1)
    assert 5 < right.sum() < 25
    assert (found[:, 1, -1].mean(1) > found[:, 1, 0].mean(1)).all()  # never upside down
    spans = (found[:, 0, 100, -1] - found[:, 0, 100, 0]).abs() / 255
    heights = (found[:, 1, -1, 100] - found[:, 1, 0, 100]) / 255
    shares = spans * heights
    assert 0.05 < shares.min() < 0.3
    assert 0.7 < shares.max() <= 1.01
    unmirrored = pictures.random_crops(rows, seed=0, mirror=False)[..., 0].float()
    assert (unmirrored[:, :, -1].mean(1) > unmirrored[:, :, 0].mean(1)).all()


def test_random_crops_of_the_seed_alone(pictures):
    rows, before = np.array([0, 1, 2, 1]), torch.random.get_rng_state()
    first, again, other = (pictures.random_crops(rows, seed, mirror=True) for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first[1], first[3])
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_corrupt_file_is_named(pictures):
    pictures.files.values[pictures.files.offsets[1] + 40 :] = 0
    with pytest.raises(CrossmodalError, match="image 'b': cannot be read"):
        pictures.random_crops(np.array([1]), seed=0, mirror=True)
