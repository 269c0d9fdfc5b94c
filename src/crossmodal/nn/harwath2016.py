"""The speech CNN of Harwath et al. (NIPS 2016), log-mel frames to T/4 vectors.

A convolution over all bins and 5 frames, then two over 25 steps of time, each followed by ReLU;
between them max-pools over 4 steps that halve the time.
"""

import torch
from torch import nn

from crossmodal.nn.davenet import BINS

CHANNELS = (64, 512, 1024)
KERNELS = (5, 25, 25)


class Harwath2016(nn.Module):
    """Frames (b, t, bins) to vectors (b, floor(t / 4), channels); t is a multiple of 4.

    Args:
        width: Multiplier of the numbers of channels, 1 in the paper.
        bins: Numbers of a frame, 40 in the paper.
    """

    stride = 4  # frames per output step

    def __init__(self, width: float, bins: int = BINS) -> None:
        super().__init__()
        channels = [max(1, round(width * c)) for c in CHANNELS]
        self.channels = channels[-1]
        layers: list[nn.Module] = []
        for before, after, kernel in zip([bins, *channels], channels, KERNELS, strict=False):
            pool = [nn.MaxPool2d((1, 4), (1, 2), (0, 1))] if layers else []
            convolution = nn.Conv2d(before, after, (1, kernel), padding=(0, kernel // 2))
            layers += [*pool, convolution, nn.ReLU()]
        self.layers = nn.Sequential(*layers)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """Encode a padded batch (b, t, bins)."""
        x = self.layers(frames.transpose(1, 2)[:, :, None])  # (b, channels, 1, t / 4)
        return x[:, :, 0].transpose(1, 2)
