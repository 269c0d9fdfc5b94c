"""ResDAVEnet: the residual speech CNN of Harwath et al. (IJCV 2020), frames to T/16 vectors.

A convolution over all bins of a frame, then four stages of two residual blocks over time, the
first block of each with stride 2.
"""

import torch
from torch import nn

from crossmodal.nn.davenet import BINS

CHANNELS = (128, 128, 256, 512, 1024)
KERNEL = 9


class ResDAVEnet(nn.Module):
    """Frames (b, t, bins) to vectors (b, ceil(t / 16), channels).

    Args:
        width: Multiplier of the numbers of channels, 1 in the paper.
        bins: Numbers of a frame, 40 in the paper.
    """

    stride = 16  # frames per output step

    def __init__(self, width: float, bins: int = BINS) -> None:
        super().__init__()
        first, *others = (max(1, round(width * channels)) for channels in CHANNELS)
        self.channels = others[-1]
        # counted among the published parameters, but the released code never applies it
        self.input_norm = nn.BatchNorm2d(1)
        lowest = nn.Conv2d(bins, first, 1, bias=False)
        layers: list[nn.Module] = [lowest, nn.BatchNorm2d(first), nn.ReLU()]
        for before, after in zip((first, *others), others, strict=False):
            layers += [_Block(before, after, stride=2), _Block(after, after, stride=1)]
        self.layers = nn.Sequential(*layers)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        # as released, where the bins are the kernel's height
        nn.init.normal_(lowest.weight, std=(2 / (bins * first)) ** 0.5)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """Encode a padded batch (b, t, bins)."""
        x = self.layers(frames.transpose(1, 2)[:, :, None])  # (b, channels, 1, ceil(t / 16))
        return x[:, :, 0].transpose(1, 2)


class _Block(nn.Module):
    """relu(N(C(relu(N(C(x))))) + x), the x on the right through a convolution where sizes differ.

    Args:
        before: Channels of the input.
        after: Channels of the output.
        stride: Of the first convolution, in time.
    """

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.residual = nn.Sequential(
            _convolution(before, after, KERNEL, stride),
            nn.BatchNorm2d(after),
            nn.ReLU(),
            _convolution(after, after, KERNEL, 1),
            nn.BatchNorm2d(after),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1 or before != after:
            self.shortcut = nn.Sequential(
                _convolution(before, after, 1, stride), nn.BatchNorm2d(after)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.residual(x) + self.shortcut(x)).relu()


def _convolution(before: int, after: int, kernel: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(before, after, (1, kernel), (1, stride), padding=(0, kernel // 2), bias=False)
