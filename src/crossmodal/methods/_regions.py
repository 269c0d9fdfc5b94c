"""Regions of images: the positions of maps."""

from collections.abc import Iterable
from typing import Literal

import torch
from torch import nn

from crossmodal.learning.scaling import Scaling
from crossmodal.learning.scaling_layer import ScalingLayer

Kind = Literal["raw", "zscore"]


class Regions(nn.Module):
    """Positions of maps, as they are or in z-scores.

    Args:
        channels: C of the maps.
        scaling: 'raw' or 'zscore', of each channel over all positions of the training split.
    """

    def __init__(self, channels: int, scaling: Kind) -> None:
        super().__init__()
        self.scaler = ScalingLayer(channels, scaling)

    def fit(self, maps: Iterable[torch.Tensor]) -> None:
        """Take statistics from the training split, a block of maps (b, C, h, w) at a time."""
        if self.scaler.kind == "raw":
            return
        rows = (_positions(block).flatten(0, 1).cpu().numpy() for block in maps)
        for name, values in Scaling.fit(self.scaler.kind, rows).state().items():
            self.scaler.get_buffer(name).copy_(torch.from_numpy(values))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Return regions (b, h w, C) of maps (b, C, h, w)."""
        regions = _positions(maps)
        return regions if self.scaler.kind == "raw" else self.scaler(regions)


def _positions(maps: torch.Tensor) -> torch.Tensor:
    return maps.float().flatten(2).transpose(1, 2)
