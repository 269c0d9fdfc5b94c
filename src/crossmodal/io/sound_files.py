"""Sound files of any format that libsndfile reads, as one channel at 16 kHz."""

import io
import math
from typing import TYPE_CHECKING

import numpy as np

from crossmodal.errors import CrossmodalError

if TYPE_CHECKING:
    from torch import Tensor

RATE = 16_000
LONGEST = 1 << 27  # samples of a clip, before and after resampling
LARGEST_KERNEL = 1 << 22  # elements; 44.1 kHz takes 70,560


def read_speech(content: bytes, name: str) -> "Tensor":
    """Decode a clip of any rate and number of channels to one channel at 16 kHz, (samples,).

    A silent clip, or one without samples, is valid.

    Args:
        content: wav, flac or another format that libsndfile reads.
        name: What the clip is called in messages.

    Raises:
        CrossmodalError: If the clip cannot be decoded, is longer than `LONGEST`, or holds values
            that are NaN or infinite.
    """
    from torch import from_numpy  # takes seconds, and clips are also only decoded
    from torchaudio.functional import resample

    samples, rate = decode_speech(content, name)
    clip = from_numpy(samples)
    return resample(clip, rate, RATE) if len(clip) else clip


def decode_speech(content: bytes, name: str) -> tuple[np.ndarray, int]:
    """Mean of the channels, (samples,) float32, and the sampling rate; see `read_speech`."""
    from soundfile import LibsndfileError

    try:
        return _decode(content)
    except LibsndfileError as error:
        raise _refusal(name, f"cannot be decoded as audio ({error.error_string})") from error
    except (ValueError, MemoryError) as error:
        raise _refusal(name, str(error)) from error


def _decode(content: bytes) -> tuple[np.ndarray, int]:
    import soundfile

    with soundfile.SoundFile(io.BytesIO(content)) as clip:
        rate, frames = clip.samplerate, clip.frames
        # a corrupt header must not decide how much memory is allocated
        if max(frames * clip.channels, frames * RATE // rate) > LONGEST:
            raise ValueError(f"has {frames} samples at {rate} Hz according to its header, too many")
        if rate * RATE > LARGEST_KERNEL * math.gcd(rate, RATE) ** 2:
            raise ValueError(f"has {rate} Hz, which cannot be resampled to {RATE} Hz")
        samples = clip.read(dtype="float32", always_2d=True)
    if not np.isfinite(samples).all():
        raise ValueError("holds NaN or infinite samples")
    return samples.mean(axis=1), rate


def _refusal(name: str, reason: str) -> CrossmodalError:
    return CrossmodalError(f"{name}: {reason}; replace the original file and run again")
