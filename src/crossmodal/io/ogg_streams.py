"""Ogg files as the streams that they are joined of (RFC 3533, chaining).

libsndfile reads the first one alone.
"""

import io
import struct
from collections.abc import Iterator

PAGE = b"OggS"
HEADER = "<5xB20xB"  # flags of a page, and number of its segments, whose sizes follow
FIRST = 2  # flag of the first page of a stream


def ogg_streams(content: bytes) -> list[io.BytesIO]:
    """Return the streams of a file; those that are interleaved stay together."""
    starts, was_first = [0], True
    for place, is_first in _pages(content):
        if is_first and not was_first:
            starts.append(place)
        was_first = is_first
    ends = [*starts[1:], len(content)]
    return [io.BytesIO(content[start:end]) for start, end in zip(starts, ends, strict=True)]


def _pages(content: bytes) -> Iterator[tuple[int, bool]]:
    """Yield the place of each page, and whether a stream begins there; damage is left out."""
    header, place = struct.calcsize(HEADER), content.find(PAGE)
    while 0 <= place <= len(content) - header:
        flags, count = struct.unpack_from(HEADER, content, place)
        yield place, bool(flags & FIRST)
        segments = content[place + header : place + header + count]
        place = content.find(PAGE, place + header + count + sum(segments))
