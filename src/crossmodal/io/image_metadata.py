"""Images without what says nothing of their pixels, and may be broken or too large to be read."""

import struct
import zlib
from collections.abc import Iterator

PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8"
PNG_CHUNKS = (b"tRNS", b"eXIf")  # ancillary ones that count: transparency and orientation
APP0, APP1, APP14, COMMENT, SCAN = 0xE0, 0xE1, 0xEE, 0xFE, 0xDA  # markers of JPEG segments
APPLICATIONS = range(APP0, APP0 + 16)
COLOURS = 12  # bytes of the segment in which Adobe's programs state the colour space


def without_metadata(content: bytes) -> bytes:
    """Return a PNG or a JPEG with its pixels, colours, transparency and orientation alone.

    Anything else, or what is not divided as these are, is returned as it is.
    """
    if content.startswith(PNG):
        return PNG + b"".join(_png_chunks(content))
    if content.startswith(JPEG):
        return JPEG + b"".join(_jpeg_segments(content))
    return content


def _png_chunks(content: bytes) -> Iterator[bytes]:
    """Yield the critical chunks, and those of `PNG_CHUNKS` that are sound."""
    place = len(PNG)
    while place < len(content):
        size, name = struct.unpack_from(">I4s", content.ljust(place + 8, b"\0"), place)
        chunk = content[place : place + size + 12]
        is_critical = name[:1].isupper()
        is_sound = zlib.crc32(chunk[4:-4]) == int.from_bytes(chunk[-4:], "big")
        if is_critical or (name in PNG_CHUNKS and is_sound):
            yield chunk
        place += len(chunk)


def _jpeg_segments(content: bytes) -> Iterator[bytes]:
    """Yield the segments before the first scan but the metadata, and all that follows."""
    place = len(JPEG)
    while content[place : place + 1] == b"\xff" and content[place + 1] != SCAN:
        marker, size = struct.unpack_from(">xBH", content.ljust(place + 4, b"\0"), place)
        segment = content[place : place + size + 2]
        body = segment[4:]
        is_metadata = marker in APPLICATIONS or marker == COMMENT
        is_orientation = marker == APP1 and body.startswith(b"Exif\0")
        is_colour = marker == APP14 and len(body) >= COLOURS
        if not is_metadata or is_orientation or is_colour:
            yield segment
        place += len(segment)
    yield content[place:]
