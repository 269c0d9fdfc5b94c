import io

import numpy as np
import pytest
import torch
from PIL import Image

from crossmodal.errors import CrossmodalError
from crossmodal.vision import DEVIATION, MEAN, crops, square

NOISE = np.random.default_rng(0).integers(256, size=(300, 420, 3), dtype=np.uint8)


def encode(image, kind="PNG", **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def pixels_of(normalised):
    """Undo the normalisation of crops: (n, 224, 224, 3) in 0..255."""
    values = normalised.permute(0, 2, 3, 1) * torch.tensor(DEVIATION) + torch.tensor(MEAN)
    return (values * 255).round().to(torch.int)


def test_the_ten_windows_are_corners_centre_and_mirrors():
    row, column = torch.meshgrid(torch.arange(256), torch.arange(256), indexing="ij")
    coordinates = torch.stack([row, column, torch.zeros_like(row)], -1).to(torch.uint8)
    found = pixels_of(crops(coordinates[None], 10))
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
    assert torch.equal(pixels_of(crops(squares, 1)), expected)


def test_crops_of_several_images_come_crop_by_crop():
    squares = torch.from_numpy(np.stack([NOISE[:256, :256], NOISE[:256, 100:356]]))
    both = crops(squares, 10).unflatten(0, (10, 2))
    for index in range(2):
        assert torch.equal(both[:, index], crops(squares[index : index + 1], 10))


def test_mirroring_the_image_permutes_the_crops():
    squares = torch.from_numpy(NOISE[None, :256, :256].copy())
    one, other = (pixels_of(crops(s, 10)) for s in (squares, squares.flip(2)))
    assert {c.numpy().tobytes() for c in one} == {c.numpy().tobytes() for c in other}


def test_warping_agrees_with_pillow():
    image = Image.fromarray(NOISE)
    expected = np.asarray(image.resize((256, 256), Image.BILINEAR)).astype(int)
    found = square(encode(image), "m", "warp256").numpy()
    assert np.abs(found - expected).max() <= 1


@pytest.mark.parametrize("shape", [(512, 600), (600, 512), (128, 192)])
def test_the_short_side_and_the_centre_agree_with_torchvision(shape):
    from torchvision.transforms import functional

    image = Image.fromarray(np.resize(NOISE, (*shape, 3)))
    expected = functional.center_crop(functional.resize(image, 256), 224)
    found = square(encode(image), "m", "short256")[16:240, 16:240].numpy()
    assert np.abs(found - np.asarray(expected).astype(int)).max() <= 1


@pytest.mark.parametrize("resize", ["warp256", "short256"])
@pytest.mark.parametrize("mode", ["L", "LA", "P", "1", "CMYK", "RGBA"])
def test_any_colour_mode_becomes_rgb(mode, resize):
    white = Image.new("RGB", (40, 30), "white").convert(mode)
    found = square(encode(white, "TIFF" if mode == "CMYK" else "PNG"), "m", resize)
    assert (found == 255).all()


@pytest.mark.parametrize(("kind", "mode"), [("PNG", "I;16"), ("TIFF", "I;16"), ("TIFF", "I")])
def test_images_of_16_bits_keep_their_shades(kind, mode):
    shades = np.linspace(0, 65535, 256).round().astype(np.uint16 if ";" in mode else np.int32)
    image = Image.fromarray(np.tile(shades, (256, 1)))
    assert image.mode == mode
    expected = torch.arange(256)[None, :, None].expand(256, 256, 3)
    found = square(encode(image, kind), "m", "warp256")
    assert (found.to(int) - expected).abs().max() <= 1


def test_an_image_of_too_many_pixels_is_refused_before_it_is_decoded(monkeypatch):
    monkeypatch.setattr("crossmodal.vision.PIXELS", 300 * 420 - 1)
    with pytest.raises(CrossmodalError, match=r"images/7\.jpg.*420 x 300 pixels"):
        square(encode(Image.fromarray(NOISE)), "images/7.jpg", "warp256")


def test_a_program_in_place_of_an_image_is_not_run():
    with pytest.raises(CrossmodalError, match="no whole image"):
        square(encode(Image.fromarray(NOISE), "EPS"), "m", "warp256")


def test_an_image_one_pixel_high_is_stretched():
    line = Image.fromarray(NOISE[:1])
    warped = square(encode(line), "m", "warp256")
    assert (warped == warped[:1]).all()
    assert len(warped[0].unique()) > 10
    middle = torch.from_numpy(NOISE[0, (420 - 1) // 2])
    assert (square(encode(line), "m", "short256") == middle).all()


def test_the_rotation_in_exif_is_ignored():
    image, exif = Image.fromarray(NOISE), Image.Exif()
    exif[0x0112] = 6
    plain, rotated = encode(image, "JPEG"), encode(image, "JPEG", exif=exif)
    assert torch.equal(square(plain, "m", "warp256"), square(rotated, "m", "warp256"))


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.7])
def test_an_image_cut_short_is_named(kind, share):
    content = encode(Image.fromarray(NOISE), kind)
    with pytest.raises(CrossmodalError, match=r"images/7\.jpg"):
        square(content[: int(share * len(content))], "images/7.jpg", "warp256")
