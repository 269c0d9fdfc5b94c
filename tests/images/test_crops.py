import io

import numpy as np
import pytest
import torch
from PIL import Image

from crossmodal.errors import CrossmodalError
from crossmodal.images.crops import Preparation

TORCHVISION = Preparation()
NOISE = np.random.default_rng(0).integers(256, size=(300, 420, 3), dtype=np.uint8)


def encode(image, kind="PNG", **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def pixels_of(normalised):
    """Undo the normalisation of crops: (n, 224, 224, 3) in 0..255."""
    values = normalised.permute(0, 2, 3, 1) * torch.tensor(TORCHVISION.deviation) + torch.tensor(
        TORCHVISION.mean
    )
    return (values * 255).round().to(torch.int)


def test_the_ten_windows_are_corners_centre_and_mirrors():
    row, column = torch.meshgrid(torch.arange(256), torch.arange(256), indexing="ij")
    coordinates = torch.stack([row, column, torch.zeros_like(row)], -1).to(torch.uint8)
    found = pixels_of(TORCHVISION.crops(coordinates[None], 10))
    windows = set()
    for crop in found:
        top, left = crop[0, 0, 0], crop[0, :, 1].min()
        window = coordinates[top : top + 224, left : left + 224].to(torch.int)
        mirrored = bool(crop[0, 0, 1] > crop[0, -1, 1])
        assert torch.equal(crop, window.flip(1) if mirrored else window)
        windows.add((int(top), int(left), mirrored))
    corners = [(0, 0), (0, 32), (32, 0), (32, 32), (16, 16)]
    assert windows == {(*corner, mirrored) for corner in corners for mirrored in (False, True)}


def test_one_crop_is_the_centre():
    squares = torch.from_numpy(NOISE[None, :256, :256].copy())
    expected = squares[:, 16:240, 16:240].to(torch.int)
    assert torch.equal(pixels_of(TORCHVISION.crops(squares, 1)), expected)


def test_crops_of_several_images_come_crop_by_crop():
    squares = torch.from_numpy(np.stack([NOISE[:256, :256], NOISE[:256, 100:356]]))
    both = TORCHVISION.crops(squares, 10).unflatten(0, (10, 2))
    for index in range(2):
        assert torch.equal(both[:, index], TORCHVISION.crops(squares[index : index + 1], 10))


def test_mirroring_the_image_permutes_the_crops():
    squares = torch.from_numpy(NOISE[None, :256, :256].copy())
    one, other = (pixels_of(TORCHVISION.crops(s, 10)) for s in (squares, squares.flip(2)))
    assert {c.numpy().tobytes() for c in one} == {c.numpy().tobytes() for c in other}


def test_warping_agrees_with_pillow():
    image = Image.fromarray(NOISE)
    expected = np.asarray(image.resize((256, 256), Image.BILINEAR)).astype(int)
    found = TORCHVISION.square(encode(image), "m", "warp").numpy()
    assert np.abs(found - expected).max() <= 1


@pytest.mark.parametrize("shape", [(512, 600), (600, 512), (128, 192)])
def test_the_short_side_and_the_centre_agree_with_torchvision(shape):
    from torchvision.transforms import functional

    image = Image.fromarray(np.resize(NOISE, (*shape, 3)))
    expected = functional.center_crop(functional.resize(image, 256), 224)
    found = TORCHVISION.square(encode(image), "m", "short")[16:240, 16:240].numpy()
    assert np.abs(found - np.asarray(expected).astype(int)).max() <= 1


def test_an_image_one_pixel_high_is_stretched():
    line = Image.fromarray(NOISE[:1])
    warped = TORCHVISION.square(encode(line), "m", "warp")
    assert (warped == warped[:1]).all()
    assert len(warped[0].unique()) > 10
    middle = torch.from_numpy(NOISE[0, (420 - 1) // 2])
    assert (TORCHVISION.square(encode(line), "m", "short") == middle).all()


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.7])
def test_a_truncated_image_is_named(kind, share):
    content = encode(Image.fromarray(NOISE), kind)
    with pytest.raises(CrossmodalError, match=r"images/7\.jpg"):
        TORCHVISION.square(content[: int(share * len(content))], "images/7.jpg", "warp")
