"""MP3 files as the streams that they are joined of.

A stream may begin with a frame that states the number of frames behind it. libsndfile stops there,
though another stream may follow, and guesses the number where none is stated.
"""

import io
import re
from collections.abc import Iterator
from typing import NamedTuple

SYNC = re.compile(rb"\xff[\xe2\xe3\xf2\xf3\xfa\xfb]")  # of layer III
MPEG_1 = 3  # 2: MPEG 2, of half the sampling rate, 0: MPEG 2.5, of a quarter
BITRATES = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)  # kbit/s, from index 1
BITRATES_1 = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
RATES = (44_100, 48_000, 32_000)


class Frame(NamedTuple):
    """A frame of a file, from byte `start` to `end`, with version, rate and whether it is mono."""

    start: int
    end: int
    kind: tuple[int, int, bool]


class _Scanned(io.BytesIO):
    """A stream that seems empty from its end, so that libsndfile counts frames, not guesses."""

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return super().seek(0) if whence == io.SEEK_END else super().seek(offset, whence)


def mp3_streams(content: bytes) -> list[io.BytesIO]:
    """Return the streams of a file, each of which libsndfile reads to its end.

    A stream ends behind the number of frames that it states, or where these stop, and where the
    next one states its own, or is of another kind.
    """
    streams: list[tuple[bool, bytearray]] = []
    last, left = Frame(0, 0, (-1, -1, False)), 0
    for frame in _frames(content):
        stated, left = _stated_frames(content, frame), left - 1
        is_cut = left == 0 or (left > 0 and frame.start != last.end)
        is_first = is_cut or stated is not None or frame.kind != last.kind
        if is_first and _is_followed(content, frame):
            streams.append((bool(stated), bytearray()))
            left = stated + 1 if stated else 0
        streams[-1][1].extend(content[frame.start : frame.end])
        last = frame
    parts = [(io.BytesIO if stated else _Scanned)(part) for stated, part in streams]
    return parts or [io.BytesIO(content)]


def _frames(content: bytes) -> Iterator[Frame]:
    """Yield the frames of a file; tags, damage and a frame alone are left out."""
    place, last = 0, None
    while match := SYNC.search(content, place):
        frame = _frame(content, match.start())
        is_next = frame and last and (frame.start, frame.kind) == (last.end, last.kind)
        if frame and (_is_followed(content, frame) or (is_next and not _is_cut(content, frame))):
            yield frame
            place, last = frame.end, frame
        else:
            place = match.start() + 1


def _frame(content: bytes, start: int) -> Frame | None:
    """Return the frame whose header is at a place, if there is one."""
    header = content[start : start + 4]
    if len(header) < 4 or not SYNC.match(header):
        return None
    version, bitrate, rate = header[1] >> 3 & 3, header[2] >> 4, header[2] >> 2 & 3
    if bitrate in (0, 15) or rate == 3:
        return None
    samples, bitrates = (1152, BITRATES_1) if version == MPEG_1 else (576, BITRATES)
    hertz = RATES[rate] >> {MPEG_1: 0, 2: 1, 0: 2}[version]
    size = samples // 8 * 1000 * bitrates[bitrate - 1] // hertz + (header[2] >> 1 & 1)
    return Frame(start, start + size, (version, rate, header[3] >> 6 == 3))


def _is_followed(content: bytes, frame: Frame) -> bool:
    """Return whether a frame of the same kind is behind a frame."""
    following = _frame(content, frame.end)
    return following is not None and following.kind == frame.kind


def _is_cut(content: bytes, frame: Frame) -> bool:
    """Return whether other frames begin inside of a frame, as where a cut file was joined."""
    places = (match.start() for match in SYNC.finditer(content, frame.start + 1, frame.end))
    frames = (_frame(content, place) for place in places)
    return any(inside and _is_followed(content, inside) for inside in frames)


def _stated_frames(content: bytes, frame: Frame) -> int | None:
    """Return the number of frames that a frame states, 0 if unknown; None if it is sound."""
    version, _, is_mono = frame.kind
    side = (17 if is_mono else 32) if version == MPEG_1 else (9 if is_mono else 17)
    xing = content[frame.start + 4 + side : frame.start + 16 + side]
    vbri = content[frame.start + 36 : frame.start + 54]
    if xing[:4] in (b"Xing", b"Info"):
        return int.from_bytes(xing[8:]) if int.from_bytes(xing[4:8]) & 1 else 0
    return int.from_bytes(vbri[14:]) if vbri[:4] == b"VBRI" else None
