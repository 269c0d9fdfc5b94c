"""A CNN that reads single spoken words, and its words.

Source: D. Harwath and J. Glass, Deep multimodal semantic embeddings for speech and images, ASRU
2015; the sizes of its layers are not known here, see docs/deviations.md.
"""

import numpy as np
import torch
from torch import nn

from crossmodal.data.feature_file import Ragged
from crossmodal.device import to_device

KERNEL, POOL = 5, 3  # frames
SILENCE = -80.0  # dB below the loudest value of a clip
COLUMNS = 2  # of a frame behind its energies: its number in the word, and the word's number


class Words:
    """The words of clips, on the host.

    Args:
        clips: Rows of the feature `spoken_words`, (t, bins + 2) each.

    Attributes:
        numbers: Of each word in the vocabulary, 0 if it is not in it, (n,).
        clips: Words of each clip, as indices of these: (clips + 1,), where each begins.
    """

    def __init__(self, clips: Ragged) -> None:
        self.frames = clips.values[:, :-COLUMNS]
        self.starts = np.flatnonzero(clips.values[:, -2] == 0)
        self.stops = np.append(self.starts[1:], len(clips.values))
        self.numbers = clips.values[self.starts, -1].astype(np.int64)
        self.clips = np.searchsorted(self.starts, clips.offsets)

    def pad(self, words: np.ndarray, size: int) -> torch.Tensor:
        """Return frames (b, size, bins) of some words on the device, silence behind them."""
        bins = self.frames.shape[1]
        padded = np.full((len(words), size, bins), SILENCE, self.frames.dtype)
        for place, word in zip(padded, words, strict=True):
            frames = self.frames[self.starts[word] : self.stops[word]][:size]
            place[: len(frames)] = frames
        return to_device(padded).float()


class WordCNN(nn.Module):
    """Vectors of words, and the scores of each being a word of the vocabulary.

    Args:
        size: Frames that each word is padded to.
        bins: Energies of a frame.
        filters: Channels of the convolution over `KERNEL` frames and all bins.
        units: Width of both hidden layers; the second is the vector of a word.
        vocabulary: Number of words, with the one that stands for all others.
        dropout: Dropout rate of the hidden layers.
    """

    def __init__(
        self, size: int, bins: int, filters: int, units: int, vocabulary: int, dropout: float
    ) -> None:
        super().__init__()
        self.size = size
        self.norm = nn.BatchNorm1d(bins)
        self.convolution = nn.Conv1d(bins, filters, KERNEL, padding=KERNEL // 2)
        self.hidden = nn.Sequential(
            nn.Linear(filters * -(-size // POOL), units),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(units, units),
            nn.ReLU(),
        )
        self.classify = nn.Sequential(nn.Dropout(dropout), nn.Linear(units, vocabulary))

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """Return vectors (b, units) of frames (b, size, bins)."""
        x = self.convolution(self.norm(frames.transpose(1, 2))).relu()
        x = nn.functional.max_pool1d(x, POOL, ceil_mode=True)
        return self.hidden(x.flatten(1))
