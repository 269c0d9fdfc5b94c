"""Regions of images, the positions of maps; methods that learn by pairs of images and captions."""

from collections.abc import Iterable
from typing import Literal

import numpy as np
import torch
from torch import nn

from crossmodal.data.split import Split
from crossmodal.learning.scaling import Scaling
from crossmodal.learning.scaling_layer import ScalingLayer
from crossmodal.plugin import Strict
from crossmodal.training.gradient import GradientMethod
from crossmodal.training.image_encoder import ImageRows
from crossmodal.training.pairs import Batch, draw_pairs

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


class RegionNetwork(nn.Module):
    """A network that reads regions."""

    regions: Regions


class PairOptions(Strict):
    """Options of the pairs of a batch, which a method describes and gives defaults."""

    captions_per_epoch: Literal["one", "all"]
    batch: int


class RegionMethod(GradientMethod[Batch]):
    """Learns by pairs of an image of maps and a caption."""

    options: PairOptions
    network: RegionNetwork

    def place(self, train: Split) -> None:
        """Keep the training images on the device, and the captions."""
        self.images, text = ImageRows(), train.views["text"]
        self.images.place(train.views["image"])
        self.network.regions.fit(self.images.read(train.views["image"]))
        self.captions, self.owners = text.sequences(), text.items

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[Batch]:
        """Return shuffled pairs."""
        o = self.options
        return draw_pairs(self.owners, o.captions_per_epoch, o.batch, rng)


def _positions(maps: torch.Tensor) -> torch.Tensor:
    return maps.float().flatten(2).transpose(1, 2)
