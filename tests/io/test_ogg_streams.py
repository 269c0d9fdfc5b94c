import io
import struct

import numpy as np
import pytest
import soundfile

from crossmodal.errors import CrossmodalError
from crossmodal.io.sound_files import RATE, decode_speech


def tone(count, hertz):
    return 0.4 * np.sin(2 * np.pi * hertz * np.arange(count) / RATE)


def flac_in_ogg(samples, serial, size=251):
    """FLAC in pages of Ogg (xiph.org/flac/ogg_mapping.html), in segments of 251 bytes."""
    stream = io.BytesIO()
    soundfile.write(stream, samples, RATE, format="FLAC")
    content = stream.getvalue()
    # the marker, the first block, and all that follows
    bodies = [b"\x7fFLAC\x01\x00\x00\x01" + content[:42]]
    bodies += [content[start : start + size] for start in range(42, len(content), size)]
    return [
        struct.pack("<4sBBqIIIBB", b"OggS", 0, 2 * (n == 0), 0, serial, n, 0, 1, len(body)) + body
        for n, body in enumerate(bodies)
    ]


def encode(samples, subtype, rate=RATE):
    stream = io.BytesIO()
    soundfile.write(stream, samples, rate, format="OGG", subtype=subtype)
    return stream.getvalue()


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("subtype", ["VORBIS", "OPUS"])
def test_joined_streams_are_each_read_whole(subtype, count):
    files = [encode(tone(40_000 + 999 * n, 300 + 200 * n), subtype) for n in range(count)]
    expected = [decode_speech(file, "m")[0] for file in files]
    samples, rate = decode_speech(b"".join(files), "m")
    assert rate == RATE
    np.testing.assert_array_equal(samples, np.concatenate(expected))
    assert len(samples) == sum(40_000 + 999 * n for n in range(count))


def test_bytes_between_joined_streams_are_left_out():
    first, second = (encode(tone(20_000, hertz), "VORBIS") for hertz in (300, 500))
    assert len(decode_speech(first + b"junk" * 9 + second, "m")[0]) == 40_000


def test_joined_streams_of_other_channels_are_read():
    stereo = np.stack([tone(20_000, 300)] * 2, axis=1)
    files = encode(tone(20_000, 300), "VORBIS") + encode(stereo, "VORBIS")
    assert len(decode_speech(files, "m")[0]) == 40_000


def test_joined_streams_of_other_rates_are_refused():
    files = encode(tone(20_000, 300), "VORBIS") + encode(tone(20_000, 300), "VORBIS", 8_000)
    with pytest.raises(CrossmodalError, match="m: changes its sampling rate from 16000 to 8000 Hz"):
        decode_speech(files, "m")


def test_flac_in_ogg_is_read_as_flac():
    samples = tone(20_000, 300)
    pages = flac_in_ogg(samples, 1)
    content = b"".join(pages)
    assert decode_speech(content, "m")[0] == pytest.approx(samples, abs=2**-15)
    vorbis = encode(samples, "VORBIS")
    for joined in (content + content, vorbis + content, content + vorbis):
        assert len(decode_speech(joined, "m")[0]) == 40_000
    other = flac_in_ogg(tone(20_000, 500), 2)
    interleaved = b"".join(page for both in zip(pages, other, strict=False) for page in both)
    assert decode_speech(interleaved, "m")[0] == pytest.approx(samples, abs=2**-15)


@pytest.mark.parametrize("pages", [2, 20])
def test_flac_in_ogg_that_is_cut_short_is_refused(pages):
    content = b"".join(flac_in_ogg(tone(20_000, 300), 1)[:pages])
    with pytest.raises(CrossmodalError, match="m: cannot be decoded as audio"):
        decode_speech(content, "m")
