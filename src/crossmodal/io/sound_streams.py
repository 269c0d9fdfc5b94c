"""Sound files decoded from start to end, whatever their headers say of their length.

A program that writes into a pipe, or is killed, leaves a length of 0, the largest one, or the one
that was planned. libsndfile reads most of these; the others are corrected here, or cut into parts
that it reads.
"""

import io
import struct
from collections.abc import Iterator

import numpy as np
import soundfile

from crossmodal.io.mp3_streams import mp3_streams
from crossmodal.io.ogg_streams import PAGE, ogg_streams

BLOCK = 1 << 16  # samples decoded at a time
# first bytes -> where chunks begin, how their names and sizes are written, padding of sizes
CHUNKS = {
    b"RIFF": (12, "<4sI", 2),
    b"RIFX": (12, ">4sI", 2),
    b"caff": (8, ">4sq", 1),
}
AU = ">4xII"  # offset and size of the samples
DS64 = "<12x4s12xQ"  # of RF64, a RIFF of 64 bits: name of the first chunk, size of the samples


class SoundStream(soundfile.SoundFile):
    """A sound file, or a part of one, that is read once."""

    def seekable(self) -> bool:
        """Return False; otherwise soundfile believes the header, and seeks after each block."""
        return False

    def blocks_of_frames(self) -> Iterator[np.ndarray]:
        """Yield samples (frames, channels), float32; each block overwrites the one before."""
        block = np.empty((max(1, BLOCK // self.channels), self.channels), np.float32)
        count = 0
        # not more than the header says: a tag behind the last frame is an error to some decoders
        while len(frames := self.read(self.frames - count, out=block)):
            count += len(frames)
            yield frames


def sound_streams(content: bytes) -> Iterator[SoundStream]:
    """Yield the streams of a file, each open until the next; MP3 and Ogg files may have several.

    Args:
        content: In any format that libsndfile reads.

    Raises:
        LibsndfileError: If it is in none.
    """
    content = _corrected(content)
    if content.startswith(PAGE):
        parts = ogg_streams(content)
    else:
        with SoundStream(io.BytesIO(content)) as stream:
            if stream.subtype != "MPEG_LAYER_III":
                yield stream
                return
        parts = mp3_streams(content)
    for part in parts:
        with SoundStream(part) as stream:
            yield stream


def _corrected(content: bytes) -> bytes:
    """Return a file whose header gives its samples no more room than there is, and not none.

    FLAC, which has samples up to its end if its header does not tell, loses the tags there.
    """
    magic = content[:4]
    if content.startswith((b"fLaC", b"ID3")):
        return _without_tags(content)
    if magic == b".snd" and len(content) > struct.calcsize(AU):
        offset, size = struct.unpack_from(AU, content)
        return _with_size(content, 8, ">I", size, len(content) - offset)
    if magic == b"RF64" and len(content) > struct.calcsize(DS64):
        name, size = struct.unpack_from(DS64, content)
        is_impossible = name == b"ds64" and not 0 < size < len(content)
        return _corrected(b"RIFF" + content[4:]) if is_impossible else content
    if magic in CHUNKS:
        first, form, _ = CHUNKS[magic]
        for name, start, size in _chunks(content, first):
            if name == b"data" and (size or not _is_chunks(content, start)):
                number = form[0] + form[-1]
                place = start - struct.calcsize(number)
                return _with_size(content, place, number, size, len(content) - start)
    return content


def _without_tags(content: bytes) -> bytes:
    """Return a file without ID3v1 and APE tags at its end, where FLAC expects a frame."""
    if content[-128:-125] == b"TAG":
        content = content[:-128]
    if content[-32:-24] == b"APETAGEX":
        size, flags = struct.unpack("<12xI4xI8x", content[-32:])
        has_header = flags >> 31
        content = content[: -max(32, size + 32 * has_header)]
    return content


def _with_size(content: bytes, place: int, number: str, size: int, room: int) -> bytes:
    """Return a file whose size of samples, at a place, is `room` where it is impossible."""
    if 0 < size <= room or room <= 0:
        return content
    return content[:place] + struct.pack(number, room) + content[place + struct.calcsize(number) :]


def _chunks(content: bytes, place: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield name, start and size of the chunks from a place on."""
    _, form, padding = CHUNKS[content[:4]]
    while place + struct.calcsize(form) <= len(content):
        name, size = struct.unpack_from(form, content, place)
        place += struct.calcsize(form)
        yield name, place, size
        place += max(0, size) + size % padding


def _is_chunks(content: bytes, place: int) -> bool:
    """Return whether a file has nothing but whole chunks from a place on, or ends there."""
    for name, start, size in _chunks(content, place):
        place = start + size + size % CHUNKS[content[:4]][2]
        if not (name.isascii() and name.decode().isprintable()) or size < 0:
            return False
    return place in (len(content), len(content) + 1)  # the last one may lack its padding
