import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from crossmodal.errors import CrossmodalError
from crossmodal.io.image_files import ORIENTATION, open_image, read_image
from crossmodal.io.image_metadata import without_metadata

NOISE = Image.fromarray(np.random.default_rng(0).integers(256, size=(30, 42, 3), dtype=np.uint8))
LARGE = zlib.compress(bytes(3_000_000))
EXIF = b"MM\0*\0\0\0\x08\0\x01" + struct.pack(">HHIHH", ORIENTATION, 3, 1, 6, 0) + bytes(4)


def encode(kind, image=NOISE, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def decode(content):
    return np.asarray(read_image(content, "m"))


def chunk(name, body, checksum=None):
    checksum = zlib.crc32(name + body) if checksum is None else checksum
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", checksum)


PNG = encode("PNG")
HEADER_END, PIXELS_END = 33, PNG.index(b"IEND") - 4


def png(place, *chunks):
    return PNG[:place] + b"".join(chunks) + PNG[place:]


CHUNKS = {
    "iTXt of 3 MB": [chunk(b"iTXt", b"workflow\0\1\0\0\0" + LARGE)],
    "zTXt of 3 MB": [chunk(b"zTXt", b"w\0\0" + LARGE)],
    "ICC profile of 3 MB": [chunk(b"iCCP", b"p\0\0" + LARGE)],
    "tEXt of 80 MB": [chunk(b"tEXt", b"%d\0" % n + b"a" * 1_000_000) for n in range(80)],
    "unknown compression": [chunk(b"zTXt", b"w\0\x09?"), chunk(b"iCCP", b"p\0\x05?")],
    "no ICC profile": [chunk(b"iCCP", b"?")],
    **{f"checksum of {n}": [chunk(n.encode(), b"a\0b", 1)] for n in ("tEXt", "tIME", "xxXx")},
    **{f"short {n}": [chunk(n.encode(), b"?")] for n in ("pHYs", "gAMA", "cHRM", "acTL", "eXIf")},
}


@pytest.mark.parametrize("place", [HEADER_END, PIXELS_END])
@pytest.mark.parametrize("name", CHUNKS)
def test_odd_chunks_of_png_are_passed_over(name, place):
    content = png(place, *CHUNKS[name])
    np.testing.assert_array_equal(decode(content), np.asarray(NOISE))
    assert open_image(content).size == NOISE.size


def test_orientation_and_transparency_stay_beside_odd_chunks():
    clear = NOISE.convert("RGBA")
    clear.paste((0, 0, 0, 0), (0, 0, 10, 30))
    content = encode("PNG", clear)
    more = chunk(b"iTXt", b"workflow\0\1\0\0\0" + LARGE) + chunk(b"eXIf", EXIF)
    odd = content[:HEADER_END] + more + content[HEADER_END:]
    np.testing.assert_array_equal(decode(odd), np.rot90(decode(content), -1))
    palette = encode("PNG", NOISE.quantize(16), transparency=3)
    odd = palette[:HEADER_END] + chunk(b"pHYs", b"?") + palette[HEADER_END:]
    np.testing.assert_array_equal(decode(odd), decode(palette))


@pytest.mark.parametrize("name", ["IHDR", "IDAT"])
def test_damaged_pixels_are_refused_as_before(name):
    content = bytearray(PNG)
    content[content.index(name.encode()) + 6] ^= 1
    with pytest.raises(CrossmodalError, match=r"7\.png: cannot be read as image"):
        read_image(bytes(content), "7.png")


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize(
    ("marker", "body"),
    [
        (0xE0, b"JFIF"),
        (0xE0, b"JFIF\0\1"),
        (0xE1, b"Exif\0\0"),
        (0xE1, b"Exif\0\0garbage"),
        (0xE1, b"Exif\0\0" + EXIF[:12]),
        (0xE1, b'http://ns.adobe.com/xap/1.0/\0<x <<\xff tiff:Orientation="abc"'),
        (0xE2, b"ICC_PROFILE\0"),
        (0xE2, b"ICC_PROFILE\0\1\x09abc"),
        (0xE2, b"MPF\0garbage"),
        (0xED, b"Photoshop 3.0\x008BIM\x03\xed\0\0\0\0\0\xff"),
        (0xEE, b"Adobe"),
        (0xFE, b"?" * 60_000),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_odd_segments_of_jpeg_are_passed_over(mode, marker, body):
    content = encode("JPEG", NOISE.convert(mode))
    odd = content[:2] + struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body + content[2:]
    np.testing.assert_array_equal(decode(odd), decode(content))


def test_exif_of_jpeg_stays_beside_an_odd_segment():
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    content = encode("JPEG", exif=exif)
    odd = content[:2] + b"\xff\xe2\0\x0eICC_PROFILE\0" + content[2:]
    np.testing.assert_array_equal(decode(odd), np.rot90(decode(encode("JPEG")), -1))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "MPO", "AVIF"])
def test_bytes_behind_a_picture_are_passed_over(kind):
    content = encode(kind)
    np.testing.assert_array_equal(decode(content + b"PK" * 99), decode(content))


def test_an_orientation_that_is_none_turns_nothing():
    for number in (0, 9, 99, 65_535):
        exif = Image.Exif()
        exif[ORIENTATION] = number
        np.testing.assert_array_equal(decode(encode("PNG", exif=exif)), np.asarray(NOISE))
    np.testing.assert_array_equal(
        decode(encode("WEBP", lossless=True, exif=b"garbage")), np.asarray(NOISE)
    )


@pytest.mark.parametrize("content", [PNG, encode("JPEG"), encode("GIF"), b"", b"\xff\xd8"])
def test_cut_files_keep_their_remaining_bytes(content):
    for end in range(0, len(content), 37):
        bare = without_metadata(content[:end])
        assert len(bare) <= end
        assert without_metadata(bare) == bare
