"""Ogg files as the streams that they are joined of (RFC 3533, chaining).

libsndfile reads the first one alone, and FLAC without the pages of Ogg alone.
"""

import io
import struct
from typing import NamedTuple

PAGE = b"OggS"
HEADER = "<5xB8xI8xB"  # flags of a page, its stream, number of its segments, whose sizes follow
FIRST = 2  # flag of the first page of a stream
FLAC, FLAC_HEADER = b"\x7fFLAC", 9  # begins a stream of FLAC; bytes before the file of FLAC in it


class Page(NamedTuple):
    """A page: its place, whether a stream begins there, the stream's number, and its content."""

    place: int
    is_first: bool
    stream: int
    body: bytes


def ogg_streams(content: bytes) -> list[io.BytesIO]:
    """Return the streams of a file; those that are interleaved stay together.

    A stream of FLAC becomes a file of FLAC.
    """
    starts, was_first = [0], True
    for page in _pages(content):
        if page.is_first and not was_first:
            starts.append(page.place)
        was_first = page.is_first
    ends = [*starts[1:], len(content)]
    return [io.BytesIO(_flac(content[start:end])) for start, end in zip(starts, ends, strict=True)]


def _flac(stream: bytes) -> bytes:
    """Return a stream of FLAC as a file of FLAC, and any other one as it is."""
    first, *others = _pages(stream) or [Page(0, True, 0, b"")]
    if not first.body.startswith(FLAC):
        return stream
    bodies = (page.body for page in others if page.stream == first.stream)
    return first.body[FLAC_HEADER:] + b"".join(bodies)


def _pages(content: bytes) -> list[Page]:
    """Return the pages; damage between them is left out."""
    pages = []
    header, place = struct.calcsize(HEADER), content.find(PAGE)
    while 0 <= place <= len(content) - header:
        flags, stream, count = struct.unpack_from(HEADER, content, place)
        start = place + header + count
        end = start + sum(content[place + header : start])
        pages.append(Page(place, bool(flags & FIRST), stream, content[start:end]))
        place = content.find(PAGE, end)
    return pages
