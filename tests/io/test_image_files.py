import io
from itertools import product

import numpy as np
import pytest
from PIL import Image

from crossmodal.errors import CrossmodalError
from crossmodal.io import image_files
from crossmodal.io.image_files import ORIENTATION, read_image

NOISE = np.random.default_rng(0).integers(256, size=(30, 42, 3), dtype=np.uint8)
SHADES = np.tile(np.arange(256), (4, 1))
# EXIF orientation -> how the stored picture becomes upright
UPRIGHT = {
    1: lambda x: x,
    2: lambda x: x[:, ::-1],
    3: lambda x: x[::-1, ::-1],
    4: lambda x: x[::-1],
    5: lambda x: x.swapaxes(0, 1),
    6: lambda x: np.rot90(x, -1),
    7: lambda x: x[::-1, ::-1].swapaxes(0, 1),
    8: np.rot90,
}


def encode(image, kind="PNG", **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def pixels(content):
    image = read_image(content, "m")
    assert image.mode == "RGB"
    return np.asarray(image)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", UPRIGHT)
def test_a_picture_is_turned_upright(kind, orientation):
    exif, options = Image.Exif(), {"lossless": True} if kind == "WEBP" else {}
    exif[ORIENTATION] = orientation
    content = encode(Image.fromarray(NOISE), kind, exif=exif, **options)
    stored = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    if kind == "TIFF":  # Pillow turns it while it decodes
        stored = NOISE
    np.testing.assert_array_equal(pixels(content), UPRIGHT[orientation](stored))


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_shows_white(mode):
    image = Image.fromarray(np.dstack([NOISE, np.full((30, 42), 255, np.uint8)]))
    image.paste((200, 0, 0, 0), (0, 0, 10, 30))
    found = pixels(encode(image.convert(mode)))
    assert (found[:, :10] == 255).all()
    assert found[:, 10:].std() > 20


def test_half_transparent_is_mixed_with_white():
    found = pixels(encode(Image.new("RGBA", (3, 3), (100, 0, 200, 51))))
    assert np.abs(found[0, 0].astype(int) - [224, 204, 244]).max() <= 1


MODES = ("RGB", "L", "P", "1", "CMYK")
KINDS = ("PNG", "TIFF", "JPEG", "BMP", "GIF", "WEBP", "AVIF")
NOT_WRITTEN = {("CMYK", "PNG"), ("CMYK", "BMP"), ("CMYK", "GIF"), ("P", "JPEG")}


@pytest.mark.parametrize(("mode", "kind"), sorted({*product(MODES, KINDS)} - NOT_WRITTEN))
def test_other_files_are_read_as_pillow_converts_them(mode, kind):
    content = encode(Image.fromarray(NOISE).convert(mode), kind)
    expected = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    np.testing.assert_array_equal(pixels(content), expected)


def test_opaque_alpha_changes_no_pixel():
    content = encode(Image.fromarray(NOISE).convert("RGBA"))
    np.testing.assert_array_equal(pixels(content), NOISE)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("PNG", (SHADES * 257).astype(np.uint16)),
        ("TIFF", (SHADES * 257).astype(np.uint16)),
        ("TIFF", (SHADES * 257).astype(np.int32)),
        ("TIFF", (SHADES / 255).astype(np.float32)),
        ("TIFF", SHADES.astype(np.float32)),
    ],
)
def test_shades_of_other_types_are_kept(kind, values):
    found = pixels(encode(Image.fromarray(values), kind))
    assert np.abs(found.astype(int) - SHADES[:, :, None]).max() <= 1


@pytest.mark.parametrize(
    ("values", "fragment"),
    [
        (np.float32([[0, np.nan]]), "values lie from"),
        (np.float32([[-0.5, 1]]), "from -0.5 to 1"),
        (np.float32([[0, 1000]]), "from 0 to 1000"),
        (np.int32([[0, 65_536]]), "from 0 to 65536"),
        (np.int32([[-1, 5]]), "from -1 to 5"),
    ],
)
def test_values_that_are_no_shades_are_refused(values, fragment):
    with pytest.raises(CrossmodalError, match=f"mine.tif: cannot be read as image: .*{fragment}"):
        read_image(encode(Image.fromarray(values), "TIFF"), "mine.tif")


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_oversized_image_is_refused_before_decoding(monkeypatch):
    monkeypatch.setattr(image_files, "PIXELS", 30 * 42 - 1)
    with pytest.raises(CrossmodalError, match=r"images/7\.jpg.*42 x 30 pixels"):
        read_image(encode(Image.fromarray(NOISE)), "images/7.jpg")


@pytest.mark.parametrize(
    ("content", "fragment"),
    [
        (b"", "it is empty"),
        (b"a program", "none of the formats that are read: JPEG, PNG"),
        (encode(Image.fromarray(NOISE), "EPS"), "none of the formats"),
        (encode(Image.fromarray(NOISE), "ICO"), "none of the formats"),
        (encode(Image.fromarray(NOISE), "JPEG")[:800], "truncated"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(content, fragment):
    with pytest.raises(CrossmodalError, match=rf"^mine\.x: cannot be read as image: .*{fragment}"):
        read_image(content, "mine.x")


@pytest.fixture
def fresh():
    """The formats are found anew, before and after."""
    image_files.formats.cache_clear()
    yield
    image_files.formats.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_heic_names_the_package_that_reads_it(monkeypatch):
    monkeypatch.setattr(image_files, "HEIF", "a_package_that_is_not_installed")
    content = b"\0\0\0\x18ftypheic" + bytes(100)
    with pytest.raises(CrossmodalError, match="pip install crossmodal-retrieval"):
        read_image(content, "mine.heic")


def test_heic_is_read():
    """libheif turns it upright itself."""
    pytest.importorskip("pillow_heif").register_heif_opener()
    smooth = Image.fromarray(NOISE[:6, :8]).resize((64, 48), Image.BICUBIC)
    found = pixels(encode(smooth, "HEIF", quality=100))
    assert np.abs(found - np.asarray(smooth).astype(int)).mean() < 8  # half as many colours


def test_pictures_of_an_allowed_size_give_no_warning(recwarn):
    content = encode(Image.new("1", (9_900, 9_900)))
    with pytest.raises(CrossmodalError, match="at most 50,000,000 fit"):
        read_image(content, "m", 50_000_000)
    assert image_files.open_image(content).size == (9_900, 9_900)
    assert not recwarn.list
