"""Speech as log-mel energies or cepstral coefficients, 100 frames a second.

The front-end of DAVEnet (Harwath et al. 2018): 16 kHz, pre-emphasis 0.97, windows of 25 ms every
10 ms, 40 mel filters from 20 Hz to 8 kHz, in dB below the loudest value of the clip, at most 80.
The coefficients are the orthonormal DCT of these energies.
"""

import io
import math
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field

from crossmodal.errors import CrossmodalError
from crossmodal.features.base import Feature
from crossmodal.prepared import Caption, Prepared
from crossmodal.store import FeatureFile

RATE = 16_000
WINDOW, HOP = 400, 160
FILTERS = 40
PRE_EMPHASIS = 0.97
FLOOR = 1e-10
RANGE = 80.0  # dB
LONGEST = 1 << 27  # samples of a clip, before and after resampling
LARGEST_KERNEL = 1 << 22  # numbers; 44.1 kHz takes 70,560


class LogMel(Feature):
    """Sequences float16 (frames, 40); captions without audio have no row.

    Args:
        kind: Log-mel energies, or their cepstral coefficients.
        frames: Longer clips are cut after this many frames.
    """

    modality = "speech"
    unit = "caption"
    reads = ("captions.csv", "media.zip")

    def __init__(
        self, kind: Literal["logmel", "mfcc"], frames: Annotated[int, Field(ge=1, le=2048)]
    ) -> None:
        self.kind, self.frames = kind, frames

    def rows(self, dataset: Prepared) -> list[Caption]:
        """Captions that have audio."""
        rows = [caption for caption in dataset.captions if caption.audio]
        if not rows:
            raise CrossmodalError(f"{dataset.folder / 'captions.csv'}: no caption has audio")
        return rows

    def fit(self, dataset: Prepared, sources: dict[str, FeatureFile], weights: str) -> None:
        """Compute the filters and the cosines; nothing is learnt."""
        from torchaudio.functional import create_dct
        from torchaudio.transforms import MelSpectrogram

        self.mel = MelSpectrogram(
            sample_rate=RATE,
            n_fft=WINDOW,
            hop_length=HOP,
            f_min=20.0,
            f_max=RATE / 2,
            n_mels=FILTERS,
            window_fn=torch.hamming_window,
            wkwargs={"periodic": False},
            norm="slaney",
            mel_scale="slaney",
        )
        self.dct = create_dct(FILTERS, FILTERS, "ortho")  # (filters, coefficients)

    def extract(
        self, dataset: Prepared, rows: Sequence[Caption], sources: dict[str, FeatureFile]
    ) -> list[np.ndarray]:
        """Decode each clip and compute its frames."""
        clips = (read_speech(dataset.read(row.audio), row.audio) for row in rows)
        return [self.spectrogram(clip).half().numpy() for clip in clips]

    @torch.inference_mode()
    def spectrogram(self, samples: torch.Tensor) -> torch.Tensor:
        """Frames of a clip (samples,) at 16 kHz: (min(1 + samples // 160, frames), 40)."""
        from torchaudio.functional import preemphasis

        # the reflection at both ends needs more than half a window
        samples = torch.nn.functional.pad(samples, (0, max(0, WINDOW - len(samples))))
        energies = self.mel(preemphasis(samples - samples.mean(), PRE_EMPHASIS)).T  # (frames, 40)
        decibels = 10 * energies.clamp(min=FLOOR).log10()
        decibels = (decibels - decibels.max()).clamp(min=-RANGE)[: self.frames]
        return decibels @ self.dct if self.kind == "mfcc" else decibels


def read_speech(content: bytes, member: str) -> torch.Tensor:
    """Decode a clip of any rate and number of channels to one channel at 16 kHz, (samples,).

    A clip without a sound, or without a sample, is silence.

    Args:
        content: wav, flac or another format that libsndfile reads.
        member: Where the clip comes from, for messages.

    Raises:
        CrossmodalError: If the clip cannot be decoded, is longer than `LONGEST`, or holds values
            that are no numbers.
    """
    from soundfile import LibsndfileError
    from torchaudio.functional import resample

    try:
        samples, rate = _decode(content)
    except LibsndfileError as error:
        raise _refusal(member, f"is no audio ({error.error_string})") from error
    except (ValueError, MemoryError) as error:
        raise _refusal(member, str(error)) from error
    clip = torch.from_numpy(samples)
    return resample(clip, rate, RATE) if len(clip) else clip


def _decode(content: bytes) -> tuple[np.ndarray, int]:
    """Mean of the channels, (samples,) float32, and the sampling rate."""
    import soundfile

    with soundfile.SoundFile(io.BytesIO(content)) as clip:
        rate, frames = clip.samplerate, clip.frames
        # what a header says may be anything: it must not decide how much memory is taken
        if max(frames * clip.channels, frames * RATE // rate) > LONGEST:
            raise ValueError(f"says that it has {frames} samples at {rate} Hz, too many")
        if rate * RATE > LARGEST_KERNEL * math.gcd(rate, RATE) ** 2:
            raise ValueError(f"has {rate} Hz, which cannot be brought to {RATE} Hz")
        samples = clip.read(dtype="float32", always_2d=True)
    if not np.isfinite(samples).all():
        raise ValueError("holds NaN or infinite samples")
    return samples.mean(axis=1), rate


def _refusal(member: str, reason: str) -> CrossmodalError:
    return CrossmodalError(
        f"media.zip: {member!r} {reason}; replace the raw file and prepare the dataset again"
    )
