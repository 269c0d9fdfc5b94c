"""Spoken captions by the espeak-ng synthesiser, called in process through ctypes.

espeak-ng keeps state from one utterance to the next: what it says depends on all that the process
has said before. A run that must repeat exactly gives each batch of utterances a process of its own:
`in_processes`.
"""

import ctypes
import io
import os
import string
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import count as count_up
from itertools import takewhile
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import numpy as np

from crossmodal.errors import CrossmodalError

RATE = 16_000
ACCENTS = ("en", "en-gb-x-rp", "en-us")
VARIANTS = (  # female and male in turn
    "f1",
    "m1",
    "f2",
    "m3",
    "f3",
    "m7",
    "Annie",
    "Andy",
    "belinda",
    "Michael",
    "steph",
    "f4",
)
VOICES = tuple(f"{accent}+{variant}" for accent in ACCENTS for variant in VARIANTS)
WORDS_PER_MINUTE = (210, 290)
PITCH = (30, 70)
PITCH_RANGE = (30, 70)
PEAK = (0.1, 0.5)
SIGNAL_TO_NOISE = (20.0, 40.0)  # dB

# constants of espeak-ng's speak_lib.h
_SYNCHRONOUS = 2
_DO_NOT_EXIT = 0x8000
_UTF8 = 1
_PARAMETERS = {"rate": 1, "pitch": 3, "pitch_range": 4}
_ENDS, _WORD, _PAUSE = 0, 1, 5  # types of events: of a list of them, of a word, of a clause


class _Event(ctypes.Structure):
    """A mark in the sound: espeak_EVENT of speak_lib.h; positions in text count from 1."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("message", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("milliseconds", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", ctypes.c_uint64),
    )


_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event)
)

Batch = TypeVar("Batch")
Result = TypeVar("Result")


class Synthesiser:
    """espeak-ng, ready to speak; made by `open_synthesiser`.

    Attributes:
        words: Of the last text, in lower case: word, start and end in seconds; words that are
            spoken as one, such as "in the", have the name of the first.
    """

    def __init__(self, library: ctypes.CDLL, rate: int) -> None:
        self._library = library
        self._rate = rate
        self.words: list[tuple[str, float, float]] = []
        self._chunks: list[np.ndarray] = []
        self._events: list[tuple[int, int, float]] = []  # type, place in the text, seconds
        self._callback = _Callback(self._receive)  # must live as long as the library may call it
        library.espeak_SetSynthCallback(self._callback)

    def _receive(
        self,
        samples: "ctypes._Pointer[ctypes.c_short]",
        count: int,
        events: "ctypes._Pointer[_Event]",
    ) -> int:
        if samples and count:
            self._chunks.append(np.ctypeslib.as_array(samples, (count,)).copy())
        for event in takewhile(lambda event: event.type != _ENDS, (events[n] for n in count_up())):
            if event.type in (_WORD, _PAUSE):
                place = event.text_position - 1, event.milliseconds / 1000
                self._events.append((event.type, *place))
        return 0

    def say(self, text: str, voice: str, **parameters: int) -> np.ndarray:
        """Return samples of a text.

        Args:
            text: What to say.
            voice: Accent and variant, 'en-us+f2'.
            parameters: `rate` in words per minute; `pitch` and `pitch_range` from 0 to 100.

        Returns:
            Samples (n,) at RATE, float32 in about [-1, 1].

        Raises:
            CrossmodalError: If there is no such accent, or it cannot say the text.
        """
        from scipy.signal import resample_poly

        if self._library.espeak_SetVoiceByName(voice.encode()) != 0:
            raise CrossmodalError(
                f"espeak-ng has no voice {voice!r}; accents: {', '.join(ACCENTS)}"
            )
        for name, value in parameters.items():
            self._library.espeak_SetParameter(_PARAMETERS[name], value, 0)
        self._chunks.clear()
        self._events.clear()
        content = text.encode()
        failed = self._library.espeak_Synth(content, len(content) + 1, 0, 1, 0, _UTF8, None, None)
        if failed:
            raise CrossmodalError(f"espeak-ng cannot say {text!r}: error {failed}")
        samples = np.concatenate(self._chunks).astype(np.float32) / 2**15
        self.words = self._spoken_words(text, len(samples) / self._rate)
        return resample_poly(samples, RATE, self._rate)

    def _spoken_words(self, text: str, seconds: float) -> list[tuple[str, float, float]]:
        """Return the words of a text with their times; a word ends where what follows begins."""
        ends = [start for _, _, start in self._events[1:]] + [seconds]
        spoken = {
            place: (_word_at(text, place), start, end)
            for (kind, place, start), end in zip(self._events, ends, strict=True)
            if kind == _WORD and end > start
        }
        return [word for word in spoken.values() if word[0]]


def _word_at(text: str, place: int) -> str:
    """Return the word around a place, or else the next one, without punctuation at its ends."""
    start = text.rfind(" ", 0, place + 1) + 1
    words = (token.lower().strip(string.punctuation) for token in text[start:].split())
    return next(filter(None, words), "")


@contextmanager
def open_synthesiser(seed: int) -> Iterator[Synthesiser]:
    """Load espeak-ng, and release it at the end of the block.

    Args:
        seed: For the noise in its voices, which it would otherwise draw from the clock.

    Raises:
        CrossmodalError: If the library or its data cannot be loaded.
    """
    library, data = _locate()
    with tempfile.TemporaryDirectory() as folder:
        # espeak-ng takes paths of less than 160 characters; environments may lie deeper
        link = Path(folder) / "data"
        link.symlink_to(data)
        rate = library.espeak_Initialize(_SYNCHRONOUS, 0, bytes(link), _DO_NOT_EXIT)
        if library.espeak_SetVoiceByName(ACCENTS[0].encode()) != 0:
            raise CrossmodalError(
                f"espeak-ng cannot read its data at {link}, a link to {data}; install "
                "espeakng-loader again, and let TMPDIR have less than 140 characters"
            )
        library.espeak_ng_SetRandSeed(ctypes.c_long(seed))
        try:
            yield Synthesiser(library, rate)
        finally:
            library.espeak_Terminate()


def _locate() -> tuple[ctypes.CDLL, str]:
    try:
        import espeakng_loader

        return ctypes.CDLL(espeakng_loader.get_library_path()), espeakng_loader.get_data_path()
    except (ImportError, OSError, RuntimeError) as error:
        raise CrossmodalError(
            f"the speech synthesiser espeak-ng cannot be loaded ({error}); "
            "install the Python package espeakng-loader"
        ) from error


def random_speech(
    synthesiser: Synthesiser, text: str, rng: np.random.Generator, voices: Sequence[str] = VOICES
) -> np.ndarray:
    """Return a text in a random voice with random speed, pitch, loudness and background noise.

    Args:
        synthesiser: What speaks.
        text: What to say.
        rng: Draws all that is random.
        voices: Those to choose from.

    Returns:
        Samples (n,) at RATE, float in [-1, 1].
    """
    voice = voices[int(rng.integers(len(voices)))]
    rate, pitch, pitch_range = (
        int(rng.integers(*bounds)) for bounds in (WORDS_PER_MINUTE, PITCH, PITCH_RANGE)
    )
    samples = synthesiser.say(text, voice, rate=rate, pitch=pitch, pitch_range=pitch_range)
    noise_power = np.mean(samples**2) / 10 ** (rng.uniform(*SIGNAL_TO_NOISE) / 10)
    noisy = samples + rng.normal(0, np.sqrt(noise_power), len(samples))
    return noisy * rng.uniform(*PEAK) / np.abs(noisy).max()


def flac(samples: np.ndarray) -> bytes:
    """Return samples in [-1, 1] at RATE as an encoded audio file, mono, 16 bits."""
    import soundfile

    stream = io.BytesIO()
    integers = np.round(samples * (2**15 - 1)).astype(np.int16)
    soundfile.write(stream, integers, RATE, format="FLAC", subtype="PCM_16")
    return stream.getvalue()


def in_processes(function: Callable[[Batch], Result], batches: Sequence[Batch]) -> Iterator[Result]:
    """Yield results of `function` for each batch, in order, each in a fresh process."""
    context = get_context("forkserver")
    context.set_forkserver_preload([function.__module__, "PIL.Image", "scipy.signal", "soundfile"])
    workers = min(len(os.sched_getaffinity(0)), len(batches))
    with ProcessPoolExecutor(workers, context, max_tasks_per_child=1) as pool:
        yield from pool.map(function, batches)
