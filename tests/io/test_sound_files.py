import io
import struct
import warnings

import numpy as np
import pytest
import soundfile

from crossmodal.errors import CrossmodalError
from crossmodal.io import sound_files
from crossmodal.io.sound_files import RATE, decode_speech, read_speech, resampling_ratio

COUNT = 70_001  # more than one block
TONE = 0.4 * np.sin(2 * np.pi * 440 * np.arange(COUNT) / RATE)
UNKNOWN = 0xFFFFFFFF


def encode(samples=TONE, kind="WAV", subtype=None, rate=RATE, **options):
    stream = io.BytesIO()
    soundfile.write(stream, samples, rate, format=kind, subtype=subtype, **options)
    return stream.getvalue()


def put(content, place, form, *values):
    """A file with other numbers at a place, or behind a name."""
    content = bytearray(content)
    if isinstance(place, bytes):
        place = content.index(place) + len(place)
    struct.pack_into(form, content, place, *values)
    return bytes(content)


def length(content):
    return len(decode_speech(content, "m")[0])


STREAMED = [
    *(("WAV", subtype) for subtype in ("GSM610", "G721_32", "NMS_ADPCM_16", "NMS_ADPCM_32")),
    *(("AU", subtype) for subtype in ("G721_32", "G723_24", "G723_40")),
    *(("AIFF", subtype) for subtype in ("GSM610", "DWVW_16", "DWVW_24")),
    *(("XI", subtype) for subtype in ("DPCM_8", "DPCM_16")),
    *(("W64", subtype) for subtype in ("GSM610", "IMA_ADPCM", "MS_ADPCM")),
]


@pytest.mark.parametrize(("kind", "subtype"), STREAMED)
def test_encodings_without_seeking_are_read_whole(kind, subtype):
    samples, _ = decode_speech(encode(TONE, kind, subtype), "m")
    assert COUNT <= len(samples) < COUNT + 1_024  # the last block of a codec is filled up
    assert np.corrcoef(samples[200:COUNT], TONE[200:])[0, 1] > 0.97


@pytest.mark.parametrize("channels", [1, 2, 3, 32])
@pytest.mark.parametrize(
    ("kind", "subtype"),
    [
        *(("WAV", s) for s in ("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ALAW")),
        *(("WAV", "IMA_ADPCM"), ("WAV", "MS_ADPCM"), ("AIFF", "PCM_S8"), ("AU", "ULAW")),
        *(("FLAC", "PCM_16"), ("OGG", "VORBIS"), ("OGG", "OPUS"), ("MP3", "MPEG_LAYER_III")),
    ],
)
def test_blocks_are_the_same_bits_as_the_whole(kind, subtype, channels):
    most = {"FLAC": 8, "MP3": 2, "OGG": 2}.get(kind, 2 if subtype.endswith("ADPCM") else 32)
    noise = np.random.default_rng(0).normal(0, 0.1, (COUNT, min(channels, most)))
    content = encode(noise, kind, subtype)
    with soundfile.SoundFile(io.BytesIO(content)) as clip:
        expected = clip.read(dtype="float32", always_2d=True)
    np.testing.assert_array_equal(decode_speech(content, "m")[0], expected.mean(axis=1))


WAV, AU, AIFF, CAF, RF64 = (encode(kind=kind) for kind in ("WAV", "AU", "AIFF", "CAF", "RF64"))
FLAC = encode(kind="FLAC")


def flac(frames):
    """FLAC whose header says that it has so many frames, of 36 bits; 0: unknown."""
    return put(FLAC, 21, ">BI", FLAC[21] & 0xF0 | frames >> 32, frames & UNKNOWN)


@pytest.mark.parametrize("said", [0, 2 * len(WAV), 0x7FFFF000, 0x80000000, UNKNOWN])
def test_a_size_that_is_no_size_is_not_believed(said):
    data = put(WAV, b"data", "<I", said)
    float_data = encode(subtype="FLOAT")
    both = put(put(float_data, b"fact", "<II", 4, said), b"data", "<I", said)
    sizes = [put(WAV, 4, "<I", said), data, put(data, 4, "<I", said), both]
    sizes += [put(AU, 8, ">I", said), put(AIFF, b"SSND", ">I", said), put(AIFF, 4, ">I", said)]
    sizes += [put(AIFF, b"COMM", ">IhI", 18, 1, said), put(CAF, b"data", ">q", said)]
    sizes += [put(RF64, 28, "<Q", said), put(RF64, 20, "<QQQ", said, said, said)]
    assert [length(content) for content in sizes] == [COUNT] * len(sizes)


@pytest.mark.parametrize("said", [-1, 1 << 40, (1 << 63) - 1])
def test_a_size_of_64_bits_is_not_believed(said):
    assert length(put(CAF, b"data", ">q", said)) == COUNT
    assert length(put(RF64, 28, "<q", said)) == COUNT


@pytest.mark.parametrize("said", [0, COUNT, COUNT + 1, 2 * COUNT, (1 << 36) - 1])
def test_flac_is_read_to_its_end(said):
    samples, _ = decode_speech(flac(said), "m")
    np.testing.assert_array_equal(samples, decode_speech(FLAC, "m")[0])
    assert len(samples) == COUNT


def test_tags_behind_a_clip_are_no_sound():
    tag = b"TAG" + bytes(125)
    assert [length(content + tag) for content in (WAV, FLAC, AIFF)] == [COUNT] * 3
    listed = WAV + struct.pack("<4sI4s", b"LIST", 4, b"INFO")
    assert length(listed) == COUNT


def ape(body, flags):
    """APE tag; its size counts the footer, but not the header, which it has if bit 31 is set."""
    end = struct.pack("<8sIIII8x", b"APETAGEX", 2_000, len(body) + 32, 1, flags)
    return end * (flags >> 31) + body + end


@pytest.mark.parametrize("said", [0, COUNT, 2 * COUNT])
def test_tags_behind_flac_of_any_length_are_no_sound(said):
    id3v1, id3v2 = b"TAG" + bytes(125), b"ID3\x03\0\0\0\0\0\x0a" + bytes(10)
    art = bytes(range(256)) * 9
    for tags in (id3v1, ape(art, 0), ape(art, 1 << 31), ape(b"", 0) + id3v1, ape(art, 0) + id3v1):
        assert [length(flac(said) + tags), length(id3v2 + flac(said) + tags)] == [COUNT] * 2


@pytest.mark.parametrize("codec", ["GSM610", "IMA_ADPCM", "MS_ADPCM"])
def test_a_size_of_blocks_is_not_believed(codec):
    content = encode(subtype=codec)
    for said in (0, 2 * len(content), UNKNOWN):
        assert length(put(content, b"data", "<I", said)) == length(content)


@pytest.mark.parametrize(
    "content",
    [
        *(encode(np.zeros(0), kind) for kind in ("WAV", "AU", "AIFF", "CAF", "W64")),
        encode(np.zeros(0)) + struct.pack("<4sI4s", b"LIST", 4, b"INFO"),
        encode(np.zeros(0)) + struct.pack("<4sIB", b"note", 1, 0),
    ],
)
def test_a_clip_of_no_samples_is_warned_of(content):
    with pytest.warns(UserWarning, match=r"^speech/7\.wav: has no samples"):
        assert read_speech(content, "speech/7.wav").shape == (0,)


@pytest.mark.parametrize("kind", ["WAV", "FLAC", "OGG"])
def test_channels_that_cancel_each_other_are_warned_of(kind):
    content = encode(np.stack([TONE, -TONE, TONE, -TONE], 1), kind)
    with pytest.warns(UserWarning, match=r"7\.wav: its channels are in opposite phase"):
        read_speech(content, "7.wav")


@pytest.mark.parametrize(
    "channels", [[TONE, 0 * TONE], [0 * TONE, 0 * TONE], [TONE, -0.99 * TONE], [TONE, -TONE, TONE]]
)
def test_other_channels_are_not_warned_of(channels):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_speech(encode(np.stack(channels, 1)), "m")


def test_samples_are_counted_not_announced(monkeypatch):
    monkeypatch.setattr(sound_files, "LONGEST", COUNT)
    assert length(flac((1 << 36) - 1)) == COUNT
    monkeypatch.setattr(sound_files, "LONGEST", COUNT - 1)
    for content in (FLAC, flac(0), WAV, encode(np.zeros((COUNT // 30, 32)))):
        with pytest.raises(CrossmodalError, match=r"7\.wav: has at least \d+ samples at 16000 Hz"):
            read_speech(content, "7.wav")


@pytest.mark.parametrize("rate", [8_363, 11_127, 16_001, 22_254, 22_255, 44_056, 352_801, 999_983])
def test_a_clip_of_an_odd_rate_keeps_its_pitch(rate):
    clip = read_speech(
        encode(0.5 * np.sin(2 * np.pi * 441 * np.arange(rate) / rate), rate=rate), "m"
    )
    assert abs(len(clip) - RATE) <= 0.0003 * RATE
    middle = clip.numpy()[1_000:-1_000]
    phase = 2 * np.pi * 441 * np.arange(1_000, 1_000 + len(middle)) / RATE
    drift = 0.0003 * phase[-1]  # of a rate that is wrong by 0.03 %
    assert np.abs(middle - 0.5 * np.sin(phase)).max() < 0.5 * drift + 1e-3


def test_ratios_of_rates_are_exact_or_close():
    rates = [
        *range(1, 3_000),
        *range(3_000, 100_000, 7),
        *range(15_900, 16_100),
        999_983,
        2**31 - 1,
    ]
    ratios = {rate: resampling_ratio(rate) for rate in rates}
    for rate, ratio in ratios.items():
        assert abs(ratio * RATE / rate - 1) < 0.0003
        assert ratio.numerator * ratio.denominator <= 1.1 * sound_files.LARGEST_KERNEL
    usual = (8_000, 11_025, 22_050, 24_000, 32_000, 37_800, 44_100, 48_000, 96_000, 192_000)
    assert all(resampling_ratio(rate) * RATE == rate for rate in usual)
