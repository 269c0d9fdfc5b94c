"""Sound files of any format that libsndfile reads, as one channel at 16 kHz."""

import warnings
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from crossmodal.errors import CrossmodalError

if TYPE_CHECKING:
    from torch import Tensor

RATE = 16_000
LONGEST = 1 << 27  # samples of a clip: those of all channels, and those after resampling
LARGEST_KERNEL = 1 << 22  # elements; 44.1 kHz takes 70,560
CANCELLED = 1e-3  # of the highest peak of a channel: -60 dB


def read_speech(content: bytes, name: str, longest: int | None = None) -> "Tensor":
    """Decode a clip of any rate and number of channels to one channel at 16 kHz, (samples,).

    A clip without samples, or whose channels cancel each other out, is valid, with a warning.

    Args:
        content: wav, flac or another format that libsndfile reads.
        name: What the clip is called in messages.
        longest: How many samples it may have; None: `LONGEST`.

    Raises:
        CrossmodalError: If the clip cannot be decoded, is longer than `longest`, or holds values
            that are NaN or infinite.
    """
    from torch import from_numpy  # takes seconds, and clips are also only decoded
    from torchaudio.functional import resample

    samples, rate = decode_speech(content, name, longest)
    clip, ratio = from_numpy(samples), resampling_ratio(rate)
    if not len(clip):
        warnings.warn(f"{name}: has no samples", stacklevel=2)
        return clip
    return resample(clip, ratio.numerator, ratio.denominator)


def resampling_ratio(rate: int) -> Fraction:
    """Return `rate` / `RATE`, or the nearest fraction whose kernel is not too large.

    Such a fraction is wrong by less than 0.03 %, a two-hundredth of a semitone.
    """
    ratio = Fraction(rate, RATE)
    if ratio.numerator * ratio.denominator <= LARGEST_KERNEL:
        return ratio
    return ratio.limit_denominator(isqrt(LARGEST_KERNEL * RATE // rate))


def decode_speech(content: bytes, name: str, longest: int | None = None) -> tuple[np.ndarray, int]:
    """Return the channels' mean, (samples,) float32, and the sampling rate; see `read_speech`."""
    from soundfile import LibsndfileError

    try:
        samples, rate, peak = _decode(content, longest or LONGEST)
    except LibsndfileError as error:
        reason = f"cannot be decoded as audio ({error.error_string}); convert it to wav"
        raise _refusal(name, reason) from error
    except (ValueError, MemoryError) as error:
        raise _refusal(name, str(error)) from error
    if np.abs(samples).max(initial=0) < CANCELLED * peak:
        reason = "its channels are in opposite phase, so that their mean is silent"
        warnings.warn(f"{name}: {reason}; keep one of them", stacklevel=2)
    return samples, rate


def _decode(content: bytes, longest: int) -> tuple[np.ndarray, int, float]:
    """Return the mean of the channels, the sampling rate, and the highest peak of a channel."""
    from crossmodal.io.sound_streams import sound_streams  # soundfile takes half a second

    rate, count, peak, means = 0, 0, 0.0, [np.empty(0, np.float32)]
    for clip in sound_streams(content):
        if rate not in (0, clip.samplerate):
            raise ValueError(f"changes its sampling rate from {rate} to {clip.samplerate} Hz")
        rate = clip.samplerate
        for frames in clip.blocks_of_frames():
            count += len(frames)
            # what is read must not decide how much memory is allocated
            if max(count * clip.channels, count * RATE // rate) > longest:
                raise ValueError(f"has at least {count} samples at {rate} Hz, too many")
            if not np.isfinite(frames).all():
                raise ValueError("holds NaN or infinite samples")
            peak = max(peak, float(np.abs(frames).max()))
            means.append(frames.mean(axis=1))
    return np.concatenate(means), rate, peak


def _refusal(name: str, reason: str) -> CrossmodalError:
    return CrossmodalError(f"{name}: {reason}; replace the original file and run again")
