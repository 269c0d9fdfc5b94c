import io

import numpy as np
import pytest
import soundfile
import torch

from crossmodal.data.prepared import Prepared
from crossmodal.data.writer import Writer
from crossmodal.errors import CrossmodalError
from crossmodal.features.logmel import LogMel
from crossmodal.io.sound_files import read_speech

RATE = 16_000


def front_end(kind="logmel", frames=2048):
    feature = LogMel(kind=kind, frames=frames)
    feature.setup(None)
    return feature


LOGMEL = front_end()


def noise(samples, seed=0):
    return 0.1 * torch.randn(samples, generator=torch.Generator().manual_seed(seed))


def tone(hertz, samples=RATE, rate=RATE):
    return 0.5 * torch.sin(2 * torch.pi * hertz * torch.arange(samples) / rate)


def encode(samples, rate=RATE, kind="WAV", subtype="PCM_16"):
    stream = io.BytesIO()
    soundfile.write(stream, np.asarray(samples), rate, format=kind, subtype=subtype)
    return stream.getvalue()


def mel_edges():
    """42 points from 20 Hz to 8 kHz, equally spaced on Slaney's scale, in Hz."""

    def mel(hertz):
        return 3 * hertz / 200 if hertz < 1000 else 15 + 27 * np.log(hertz / 1000) / np.log(6.4)

    points = np.linspace(mel(20), mel(8000), 42)
    return np.where(points < 15, 200 * points / 3, 1000 * 6.4 ** ((points - 15) / 27))


def oracle(samples):
    """The same front-end from torch.stft and the mel formula, in double precision."""
    x = np.pad(samples.double().numpy(), (0, max(0, 400 - len(samples))))
    x = x - x.mean()
    x = torch.from_numpy(np.concatenate([x[:1], x[1:] - 0.97 * x[:-1]]))
    window = torch.from_numpy(0.54 - 0.46 * np.cos(2 * np.pi * np.arange(400) / 399))
    spectrum = torch.stft(x, 400, 160, window=window, return_complex=True, pad_mode="reflect")
    edges, bins = mel_edges(), np.arange(201) * 40.0
    filters = [
        np.clip(np.minimum((bins - a) / (b - a), (c - bins) / (c - b)), 0, None) * 2 / (c - a)
        for a, b, c in zip(edges, edges[1:], edges[2:], strict=False)
    ]
    energies = np.array(filters) @ (spectrum.abs() ** 2).numpy()
    decibels = 10 * np.log10(np.maximum(energies, 1e-10))
    return np.maximum(decibels - decibels.max(), -80).T  # (frames, 40)


@pytest.mark.parametrize("samples", [0, 1, 200, 201, 400, 5_000, 48_000])
def test_agrees_with_the_definition(samples):
    found = LOGMEL.spectrogram(noise(samples))
    assert len(found) == 1 + max(samples, 400) // 160
    np.testing.assert_allclose(found, oracle(noise(samples)), atol=1e-2)


@pytest.mark.long  # librosa is compiled where it is first called
def test_agrees_with_librosa():
    librosa = pytest.importorskip("librosa")
    samples = noise(RATE) + tone(700)
    x = samples.numpy() - samples.numpy().mean()
    energies = librosa.feature.melspectrogram(
        y=np.concatenate([x[:1], x[1:] - 0.97 * x[:-1]]),
        sr=RATE,
        n_fft=400,
        hop_length=160,
        window=np.hamming(400),
        pad_mode="reflect",
        n_mels=40,
        fmin=20,
    )
    expected = librosa.power_to_db(energies, ref=np.max, top_db=80).T
    np.testing.assert_allclose(LOGMEL.spectrogram(samples), expected, atol=1e-2)


def test_long_clips_are_cut_after_the_range_is_taken():
    samples = torch.cat([0.01 * noise(RATE), noise(RATE)])
    whole = LOGMEL.spectrogram(samples)
    assert torch.equal(front_end(frames=50).spectrogram(samples), whole[:50])
    assert len(LOGMEL.spectrogram(noise(25 * RATE))) == 2048


@pytest.mark.parametrize("hertz", [500, 1000, 4000])
def test_a_tone_is_loudest_in_the_nearest_filter(hertz):
    frame = LOGMEL.spectrogram(tone(hertz))[50]
    assert frame.argmax() == np.abs(mel_edges()[1:-1] - hertz).argmin()
    assert frame.sort().values[-2] < frame.max()


def test_neither_gain_nor_offset_matters():
    samples = noise(RATE)
    expected = LOGMEL.spectrogram(samples)
    for changed in (0.1 * samples, samples + 0.3):
        torch.testing.assert_close(LOGMEL.spectrogram(changed), expected, rtol=0, atol=1e-2)


def test_values_lie_within_80_decibels_of_the_loudest():
    found = LOGMEL.spectrogram(torch.cat([torch.zeros(RATE), tone(1000)]))
    assert (found.max(), found.min()) == (0, -80)


@pytest.mark.parametrize("samples", [0, 1, RATE])
def test_silence_is_finite(samples):
    assert LOGMEL.spectrogram(torch.zeros(samples)).isfinite().all()


def test_a_shift_by_one_hop_shifts_the_frames():
    samples = noise(RATE)
    one = LOGMEL.spectrogram(samples)
    other = LOGMEL.spectrogram(torch.cat([noise(160, seed=1), samples]))
    # both are in dB below their own loudest value, which the edges may hold
    difference = one[5:-5] - other[6:-5]
    assert difference.max() - difference.min() < 1e-2


def test_cepstra_are_an_orthonormal_rotation():
    feature = front_end("mfcc")
    samples = noise(RATE)
    torch.testing.assert_close(feature.dct.T @ feature.dct, torch.eye(40), rtol=0, atol=1e-5)
    spectrogram, cepstra = LOGMEL.spectrogram(samples), feature.spectrogram(samples)
    torch.testing.assert_close(cepstra @ feature.dct.T, spectrogram, rtol=0, atol=1e-3)
    # coefficient 0 is the sum of the energies up to its factor
    torch.testing.assert_close(cepstra[:, 0], spectrogram.sum(1) / 40**0.5, rtol=1e-4, atol=1e-3)
    # so a first layer over all bins absorbs the rotation
    weights = noise(40, seed=2)
    torch.testing.assert_close(cepstra @ weights, spectrogram @ (feature.dct @ weights))


def test_wav_and_flac_are_the_same():
    samples = (noise(RATE) * 2**15).to(torch.int16)
    wav, flac = (read_speech(encode(samples, kind=kind), "m") for kind in ("WAV", "FLAC"))
    assert torch.equal(wav, flac)


def test_mp3_keeps_frequency_and_duration():
    clip = read_speech(encode(tone(1000, 44_100, 44_100), 44_100, "MP3", "MPEG_LAYER_III"), "m")
    assert abs(len(clip) - RATE) < 0.1 * RATE  # the codec pads
    assert LOGMEL.spectrogram(clip)[50].argmax() == LOGMEL.spectrogram(tone(1000))[50].argmax()


def test_channels_are_averaged():
    samples = torch.stack([tone(500), tone(2000)], 1)
    found = read_speech(encode(samples, subtype="FLOAT"), "m")
    torch.testing.assert_close(found, samples.mean(1))


@pytest.mark.parametrize("rate", [8_000, 44_100])
def test_other_rates_keep_frequency_and_duration(rate):
    clip = read_speech(encode(tone(1000, rate, rate), rate), "m")
    assert abs(len(clip) - RATE) <= 1
    assert LOGMEL.spectrogram(clip)[50].argmax() == LOGMEL.spectrogram(tone(1000))[50].argmax()


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000])
@pytest.mark.parametrize("channels", [1, 2, 5])
def test_every_usual_rate_and_number_of_channels_is_read(rate, channels):
    samples = noise(rate * channels).reshape(rate, channels)
    assert abs(len(read_speech(encode(samples, rate), "m")) - RATE) <= 1


@pytest.mark.parametrize(
    "clip",
    [
        torch.zeros(0),
        torch.zeros(900),
        torch.full((900,), 0.5),
        torch.full((900,), 0.1),
        torch.ones(1),
        torch.tensor([[0.5, -0.5]] * 900),
    ],
)
@pytest.mark.parametrize("rate", [RATE, 44_100])
def test_a_clip_without_sound_is_silence(clip, rate):
    samples = read_speech(encode(clip, rate), "m")
    frames = LOGMEL.spectrogram(samples)
    assert frames.shape == (1 + max(400, len(samples)) // 160, 40)
    if rate == RATE and len(clip) != 1:  # both ends of a resampled clip sound, one sample does
        assert (frames == 0).all()
    assert frames.isfinite().all()


def test_two_samples_are_enough():
    frames = LOGMEL.spectrogram(read_speech(encode(torch.tensor([0.1, -0.1])), "m"))
    assert frames.shape == (3, 40)
    assert frames.isfinite().all()


def test_a_clip_that_lasts_hours_is_refused():
    with pytest.raises(CrossmodalError, match=r"speech/7\.wav: has at least 9000 samples at 1 Hz"):
        read_speech(encode(noise(9000), 1), "speech/7.wav")


@pytest.fixture
def speech(tmp_path):
    """A prepared dataset with spoken captions."""

    def make(*clips):
        with Writer(tmp_path) as out:
            out.item("a", "train")
            for index, clip in enumerate(clips):
                out.caption(f"{index}", "a", text="words", audio=clip, suffix=".wav")
        return Prepared(tmp_path)

    return make


def test_only_captions_with_audio_have_rows(speech):
    dataset = speech(encode(noise(RATE)), None, encode(noise(2 * RATE)))
    rows = LOGMEL.rows(dataset)
    assert [row.id for row in rows] == ["0", "2"]
    found = LOGMEL.extract(dataset, rows, {})
    assert [len(frames) for frames in found] == [101, 201]
    for frames, clip in zip(found, rows, strict=True):
        expected = LOGMEL.spectrogram(read_speech(dataset.read(clip.audio), clip.audio))
        np.testing.assert_allclose(frames, expected, atol=0.04)  # half a step of float16
        assert frames.dtype == np.float16


def test_a_dataset_without_audio_is_an_error(speech):
    with pytest.raises(CrossmodalError, match="no caption has audio"):
        LOGMEL.rows(speech(None))


@pytest.mark.parametrize(
    "damaged",
    [b"noise", b"noise" * 100, encode(noise(9000), kind="FLAC")[:500]]
    + [encode(np.full(1000, value), subtype="FLOAT") for value in (np.nan, np.inf)],
)
def test_a_corrupt_clip_is_named(speech, damaged):
    dataset = speech(damaged)
    with pytest.raises(CrossmodalError, match=r"speech/0\.wav"):
        LOGMEL.extract(dataset, LOGMEL.rows(dataset), {})
