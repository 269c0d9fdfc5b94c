import io

import numpy as np
import pytest
import soundfile

from crossmodal.errors import CrossmodalError
from crossmodal.io.mp3_streams import mp3_streams
from crossmodal.io.sound_files import decode_speech

RATE = 16_000
COUNT = 40_000
SAMPLES = 576  # of a frame of MPEG 2
RNG = np.random.default_rng(0)
# silence and noise, so that the first frames say nothing of the size of the others
LOUD = 0.3 * RNG.standard_normal(COUNT) * (np.arange(COUNT) > COUNT // 4)
ID3V1 = b"TAG" + bytes(125)
ID3V2 = b"ID3\x03\0\0\0\0\x10\0" + bytes(2048)


def encode(samples=LOUD, rate=RATE):
    """MP3 of variable bit rate, whose first frame states its length."""
    stream = io.BytesIO()
    how = {"format": "MP3", "bitrate_mode": "VARIABLE", "compression_level": 0.5}
    soundfile.write(stream, samples, rate, **how)
    return stream.getvalue()


def without_statement(content):
    """The MP3 without its first frame."""
    return content[content.index(b"\xff", content.index(b"LAME")) :]


def decode(content):
    return decode_speech(content, "speech/7.mp3")[0]


STATED = encode()
UNSTATED = without_statement(STATED)
WHOLE = -(-(COUNT + 576 + 529) // SAMPLES) * SAMPLES  # with the delay of coding, in whole frames


def test_a_stream_that_states_its_length_keeps_its_bits():
    with soundfile.SoundFile(io.BytesIO(STATED)) as clip:
        expected = clip.read(dtype="float32")
    for content in (STATED, ID3V2 + STATED, STATED + ID3V1, ID3V2 + STATED + bytes(3_000)):
        np.testing.assert_array_equal(decode(content), expected)
    assert len(expected) == COUNT


def test_a_stream_of_no_stated_length_is_read_to_its_end():
    samples = decode(UNSTATED)
    assert WHOLE <= len(samples) <= WHOLE + 2 * SAMPLES
    np.testing.assert_allclose(samples[1105:][:COUNT], decode(STATED), atol=1e-6)
    for content in (ID3V2 + UNSTATED, UNSTATED + ID3V1, UNSTATED + bytes(3_000)):
        np.testing.assert_array_equal(decode(content), samples)


@pytest.mark.parametrize("magic", [b"Xing", b"Info"])
@pytest.mark.parametrize("statement", [bytes(8), b"\0\0\0\1" + bytes(4)])
def test_a_first_frame_of_no_length_is_no_length(magic, statement):
    place = STATED.index(b"Xing")
    content = STATED[:place] + magic + statement + STATED[place + 12 :]
    assert len(decode(content)) >= COUNT


def test_a_stated_length_that_is_too_short_is_not_believed():
    place = STATED.index(b"Xing") + 8
    content = STATED[:place] + (10).to_bytes(4) + STATED[place + 4 :]
    assert len(decode(content)) >= COUNT


@pytest.mark.parametrize("tags", [b"", ID3V1, ID3V2, ID3V1 + ID3V2])
def test_joined_streams_are_each_read_whole(tags):
    alone = [decode(STATED), decode(STATED)]
    np.testing.assert_array_equal(decode(STATED + tags + STATED), np.concatenate(alone))
    alone[1] = decode(UNSTATED)
    np.testing.assert_array_equal(decode(STATED + tags + UNSTATED), np.concatenate(alone))
    np.testing.assert_array_equal(decode(UNSTATED + tags + STATED), np.concatenate(alone[::-1]))
    assert len(decode(UNSTATED + tags + UNSTATED)) == 2 * len(alone[1])


def test_joined_streams_of_other_channels_are_read():
    other = encode(np.stack([LOUD, LOUD], 1))
    for content in (STATED + other, UNSTATED + without_statement(other)):
        assert len(decode(content)) >= 2 * COUNT


def test_joined_streams_of_other_rates_are_refused():
    content = UNSTATED + encode(rate=24_000)
    reason = r"^speech/7\.mp3: changes its sampling rate from 16000 to 24000 Hz"
    with pytest.raises(CrossmodalError, match=reason):
        decode(content)


def test_a_stream_behind_a_cut_one_is_read():
    cut = STATED[: len(STATED) // 2]
    samples, alone = decode(cut + STATED), decode(cut)
    np.testing.assert_array_equal(samples[-COUNT:], decode(STATED))
    assert abs(len(samples) - len(alone) - COUNT) <= SAMPLES


@pytest.mark.parametrize("content", [STATED, UNSTATED])
@pytest.mark.parametrize("size", [300, 3_000])
def test_frames_behind_damage_are_read(content, size):
    middle = len(content) // 2
    damaged = content[:middle] + bytes(size) + content[middle + size :]
    frame = len(content) * SAMPLES / COUNT  # bytes, on average of loud and silent ones
    lost = len(decode(content)) - len(decode(damaged))
    assert 0 <= lost <= SAMPLES * (size / frame + 2)


def test_content_of_no_frames_is_one_stream():
    for content in (b"", b"\xff\xfb", bytes(5_000), b"\xff\xfb" * 5_000):
        (stream,) = mp3_streams(content)
        assert stream.read() == content
