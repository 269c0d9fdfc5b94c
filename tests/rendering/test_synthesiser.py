import io
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import soundfile

from crossmodal.errors import CrossmodalError
from crossmodal.rendering.synthesiser import (
    ACCENTS,
    PEAK,
    RATE,
    VARIANTS,
    VOICES,
    flac,
    open_synthesiser,
    random_speech,
)

espeakng_loader = pytest.importorskip("espeakng_loader")
TEXT = "a small red ball left of the house"
NORMAL = {"rate": 240, "pitch": 50, "pitch_range": 50}


@pytest.fixture
def synthesiser():
    with open_synthesiser(1) as opened:
        yield opened


def test_speech_is_audible_and_lasts_as_long_as_its_words_take(synthesiser):
    samples = synthesiser.say(TEXT, "en+f2", **NORMAL)
    expected = len(TEXT.split()) / 240 * 60
    assert 0.5 * expected < len(samples) / RATE < 1.5 * expected
    assert 0.1 < np.abs(samples).max() < 1.1
    assert np.sqrt(np.mean(samples**2)) > 0.02


def test_energy_lies_below_the_new_nyquist_frequency_and_is_kept(synthesiser):
    samples = synthesiser.say(TEXT, "en+m3", **NORMAL)
    power = np.abs(np.fft.rfft(samples)) ** 2
    frequency = np.fft.rfftfreq(len(samples), 1 / RATE)
    assert power[frequency < 4000].sum() > 0.8 * power.sum()


def test_faster_speech_is_shorter(synthesiser):
    slow, fast = (
        len(synthesiser.say(TEXT, "en+f2", **NORMAL | {"rate": rate})) for rate in (160, 290)
    )
    assert fast < 0.75 * slow


def fundamental(samples):
    """Median frequency in Hz, 50 to 400, at which the louder frames repeat themselves."""
    frames = np.lib.stride_tricks.sliding_window_view(samples, 1024)[::256] * np.hanning(1024)
    repeats = np.fft.irfft(np.abs(np.fft.rfft(frames, 2048)) ** 2)
    lags = np.arange(RATE // 400, RATE // 50)
    loud = repeats[:, 0] > np.median(repeats[:, 0])
    return RATE / np.median(lags[repeats[loud][:, lags].argmax(axis=1)])


def test_pitch_raises_the_fundamental_frequency(synthesiser):
    tone = np.sin(2 * np.pi * 123 / RATE * np.arange(RATE))
    assert fundamental(tone) == pytest.approx(123, abs=2)
    low, high = (
        fundamental(synthesiser.say(TEXT, "en-us+m3", **NORMAL | {"pitch": p, "pitch_range": 0}))
        for p in (20, 80)
    )
    assert high > 1.3 * low


def test_every_voice_exists_and_sounds_different(synthesiser):
    folder = Path(espeakng_loader.get_data_path(), "voices", "!v")
    for variant in VARIANTS:  # espeak-ng ignores an unknown variant in silence
        assert (folder / variant).is_file(), variant
    said = {synthesiser.say(TEXT, voice, **NORMAL).tobytes() for voice in VOICES}
    assert len(said) == len(VOICES) == len(ACCENTS) * len(VARIANTS)


def test_texts_differ_more_than_repetitions_of_one(synthesiser):
    def spectrum(text):
        power = np.abs(np.fft.rfft(synthesiser.say(text, "en+f2", **NORMAL), 2**16)[1:]) ** 2
        return np.log(power.reshape(128, -1).mean(axis=1))  # (128,) bands

    once, twice, other = spectrum(TEXT), spectrum(TEXT), spectrum("two golden stars in the sea")
    assert np.abs(once - other).mean() > 2 * np.abs(once - twice).mean()


def test_words_are_those_of_the_text_one_after_the_other(synthesiser):
    samples = synthesiser.say("Two big, blue-green dogs -- isn't it?", "en+f2", **NORMAL)
    words, starts, ends = zip(*synthesiser.words, strict=True)
    assert words == ("two", "big", "blue-green", "dogs", "isn't", "it")
    assert all(start < end for start, end in zip(starts, ends, strict=True))
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    assert starts[0] == 0
    assert ends[-1] <= len(samples) / RATE


def test_a_word_sounds_in_its_time_alone(synthesiser):
    """A text is silent in the times of its pauses, which are of no word."""
    samples = synthesiser.say("red, ball", "en+f2", **NORMAL)
    power = samples**2
    (_, _, end), (_, start, _) = synthesiser.words
    pause = power[int(RATE * end) : int(RATE * start)]
    assert len(pause) > RATE / 50
    assert pause.mean() < 0.01 * power.mean()


def test_random_speech_varies_voice_length_and_loudness(synthesiser):
    rng = np.random.default_rng(0)
    clips = [random_speech(synthesiser, TEXT, rng) for _ in range(20)]
    peaks = np.array([np.abs(clip).max() for clip in clips])
    assert ((peaks > PEAK[0] - 1e-6) & (peaks < PEAK[1] + 1e-6)).all()
    assert peaks.max() > 1.5 * peaks.min()
    lengths = [len(clip) for clip in clips]
    assert max(lengths) > 1.1 * min(lengths)


@pytest.mark.parametrize("voices", [VOICES, VOICES[:2]])
def test_every_voice_that_may_speak_does(synthesiser, monkeypatch, voices):
    spoken = []

    def say(text, voice, **_):
        spoken.append(voice)
        return np.ones(4)

    monkeypatch.setattr(synthesiser, "say", say)
    rng = np.random.default_rng(0)
    for _ in range(20 * len(voices)):
        random_speech(synthesiser, TEXT, rng, voices)
    assert set(spoken) == set(voices)


def test_flac_keeps_sixteen_bits_at_sixteen_kilohertz():
    samples = np.sin(np.arange(8000) / 7) * 0.6
    encoded = flac(samples)
    info = soundfile.info(io.BytesIO(encoded))
    assert (info.format, info.subtype, info.samplerate, info.channels) == (
        "FLAC",
        "PCM_16",
        16_000,
        1,
    )
    decoded, _ = soundfile.read(io.BytesIO(encoded))
    assert np.abs(decoded - samples).max() < 1e-4


def test_unknown_voice_is_an_error(synthesiser):
    with pytest.raises(CrossmodalError, match="no voice 'martian'"):
        synthesiser.say(TEXT, "martian", **NORMAL)


def test_library_in_a_deep_folder_is_found(tmp_path, monkeypatch):
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    (deep / "espeak-ng-data").symlink_to(espeakng_loader.get_data_path())
    monkeypatch.setattr(espeakng_loader, "get_data_path", lambda: str(deep / "espeak-ng-data"))
    with open_synthesiser(1) as opened:
        assert len(opened.say(TEXT, "en", **NORMAL)) > RATE / 2


def test_long_temporary_path_is_an_error_that_names_it(tmp_path, monkeypatch):
    deep = tmp_path / ("d" * 160)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with pytest.raises(CrossmodalError, match="TMPDIR"), open_synthesiser(1):
        pass
    assert list(deep.iterdir()) == []


def test_missing_library_is_an_error_that_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    with pytest.raises(CrossmodalError, match="install the Python package espeakng-loader"):
        open_synthesiser(1).__enter__()
