"""Image files as people have them, decoded to RGB.

A picture is turned as its EXIF orientation says. What is transparent shows white. Grey of 16 bits
keeps its shades, and so does floating point from 0 to 1. Of several frames the first is read.
Metadata that are damaged or too large are passed over.
"""

import importlib
import importlib.util
import io
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.io.image_metadata import without_metadata
from crossmodal.io.suffixes import PICTURES

if TYPE_CHECKING:
    from PIL.Image import Image, Transpose

FORMATS = tuple(PICTURES)
PIXELS = 100_000_000
ORIENTATION = 0x0112
HEIF = "pillow_heif"  # Pillow reads all other formats itself
HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")


@cache
def formats() -> tuple[str, ...]:
    """Return the formats that this installation reads."""
    if importlib.util.find_spec(HEIF):
        importlib.import_module(HEIF).register_heif_opener()
        return FORMATS
    return tuple(name for name in FORMATS if name != "HEIF")


def open_image(content: bytes) -> "Image":
    """Return one of Pillow's images, not decoded yet.

    Raises:
        ValueError: If it is in no format of `formats`, or has more than `PIXELS` pixels.
    """
    return _leniently(_open, content)


def _leniently(read: "Callable[[bytes], Image]", content: bytes) -> "Image":
    """Return what a function reads from an image; if that fails, from one without metadata."""
    try:
        return read(content)
    except Exception:  # Pillow's readers raise anything on corrupt files
        bare = without_metadata(content)
        if bare == content:
            raise
        return read(bare)


def _open(content: bytes, pixels: int | None = None) -> "Image":
    from PIL import Image, UnidentifiedImageError

    if not content:
        raise ValueError("it is empty")
    Image.MAX_IMAGE_PIXELS = PIXELS  # above which Pillow warns of decompression bombs
    try:
        image = Image.open(io.BytesIO(content), formats=formats())
    except UnidentifiedImageError:
        if content[4:8] == b"ftyp" and content[8:12] in HEIF_BRANDS and "HEIF" not in formats():
            raise ValueError("HEIC needs `pip install crossmodal-retrieval[heic]`") from None
        names = ", ".join(formats())
        raise ValueError(f"it is in none of the formats that are read: {names}") from None
    most = pixels or PIXELS
    if not 0 < image.width * image.height <= most:
        raise ValueError(f"it has {image.width} x {image.height} pixels, at most {most:,} fit")
    return image


def read_image(content: bytes, name: str, pixels: int | None = None) -> "Image":
    """Decode an image to one of Pillow's, in mode RGB.

    Args:
        content: An image in one of `formats`, of any colour mode.
        name: What the image is called in messages.
        pixels: How many it may have; None: `PIXELS`.

    Raises:
        CrossmodalError: If the image cannot be read, with the reason.
    """
    try:
        return _leniently(lambda content: to_rgb(_open(content, pixels)), content)
    except Exception as error:
        raise CrossmodalError(
            f"{name}: cannot be read as image: {error}; replace the original file and run again"
        ) from error


def to_rgb(image: "Image") -> "Image":
    """Return one of Pillow's images in mode RGB, turned as its EXIF orientation says.

    Raises:
        ValueError: If its values lie outside of what grey has.
    """
    image.load()
    turn = _turn(image)
    if turn is not None:
        image = image.transpose(turn)
    if image.mode == "F":
        image = _from_floats(image)
    elif image.mode.startswith("I"):
        image = _from_integers(image.convert("I"))
    if image.has_transparency_data:
        image = _on_white(image.convert("RGBA"))
    return image if image.mode == "RGB" else image.convert("RGB")  # or it would be copied


def _turn(image: "Image") -> "Transpose | None":
    """Return how Pillow turns an image upright; None: not at all."""
    from PIL.Image import Transpose

    turns: dict[object, Transpose] = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    try:
        return turns.get(image.getexif().get(ORIENTATION))
    except Exception:  # Pillow raises anything on damaged EXIF
        return None


def _from_floats(image: "Image") -> "Image":
    """Return grey of 8 bits from 0..1, or from 0..255."""
    values = np.asarray(image)
    low, high = values.min(), values.max()  # NaN where there is one
    if not 0 <= low <= high <= 255:
        raise ValueError(f"its values lie from {low:g} to {high:g}; save it with 0 to 1, or 8 bits")
    return image.point(lambda value: value * (255 if high <= 1 else 1) + 0).convert("L")


def _from_integers(image: "Image") -> "Image":
    """Return grey of 8 bits from 16; converting would clip them."""
    low, high = cast(tuple[float, float], image.getextrema())  # of one band
    if not 0 <= low <= high < 1 << 16:
        raise ValueError(f"its values lie from {low} to {high}; save it with 8 or 16 bits")
    return image.point(lambda value: value * (1 / 257)).convert("L")


def _on_white(image: "Image") -> "Image":
    from PIL import Image

    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
