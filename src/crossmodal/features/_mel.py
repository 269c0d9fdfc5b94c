"""Speech as log-mel energies or cepstral coefficients, 100 frames a second.

The front-end of DAVEnet (Harwath et al. 2018): 16 kHz, pre-emphasis 0.97, windows of 25 ms every
10 ms, 40 mel filters from 20 Hz to 8 kHz, in dB below the loudest value of the clip, at most 80.
The coefficients are the orthonormal DCT of these energies.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import torch
from pydantic import Field

from crossmodal.data.prepared import Caption, Items
from crossmodal.features._speech import SpeechFeature
from crossmodal.io.sound_files import RATE, read_speech
from crossmodal.plugin import Strict

WINDOW, HOP = 400, 160
FILTERS = 40
PRE_EMPHASIS = 0.97
FLOOR = 1e-10
RANGE = 80.0  # dB


class MelFeature(SpeechFeature):
    """Base class of features that are computed from log-mel frames."""

    class Options(Strict):
        kind: Literal["logmel", "mfcc"] = Field(
            description="Log-mel energies, or their cepstral coefficients."
        )
        frames: int = Field(
            2048,
            ge=1,
            le=2048,
            description="Maximal number of frames of 10 ms; longer clips are cut.",
        )

    options: Options

    def setup(self, weights: Path | None) -> None:
        """Compute the filters and the cosines."""
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

    def spectrograms(self, dataset: Items, rows: Sequence[Caption]) -> Iterator[torch.Tensor]:
        """Decode each clip and yield its frames, see `spectrogram`."""
        for row in rows:
            yield self.spectrogram(read_speech(dataset.read(row.audio), dataset.where(row.audio)))

    @torch.inference_mode()
    def spectrogram(self, samples: torch.Tensor) -> torch.Tensor:
        """Return frames of a clip (samples,) at 16 kHz: (min(1 + samples // 160, frames), 40)."""
        from torchaudio.functional import preemphasis

        # the reflection at both ends needs more than half a window
        samples = torch.nn.functional.pad(samples, (0, max(0, WINDOW - len(samples))))
        energies = self.mel(preemphasis(samples - samples.mean(), PRE_EMPHASIS)).T  # (frames, 40)
        decibels = 10 * energies.clamp(min=FLOOR).log10()
        decibels = (decibels - decibels.max()).clamp(min=-RANGE)[: self.options.frames]
        return decibels @ self.dct if self.options.kind == "mfcc" else decibels
