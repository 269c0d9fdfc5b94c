"""Scaling of features as the first layer of a network."""

import torch
from torch import nn
from torch.nn.functional import normalize

from crossmodal.learning.scaling import Kind, begin, divides, subtracts, transformed


class ScalingLayer(nn.Module):
    """A `Scaling` as the first layer of a network, which is stored with its weights.

    Args:
        width: Number d of features.
        kind: See `ScalingOptions`.
    """

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, width: int, kind: Kind) -> None:
        super().__init__()
        self.kind = kind
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))

    def fit(self, x: torch.Tensor) -> None:
        """Take the statistics from training rows (n, d)."""
        x = begin(self.kind, x, normalize)
        if subtracts(self.kind):
            self.mean.copy_(x.mean(0))
        if divides(self.kind):
            deviation = x.std(0, correction=0)
            if self.kind == "centre-scale":
                deviation = deviation.square().mean().sqrt()
            self.scale.copy_(torch.where(deviation > 0, deviation, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return scaled rows (n, d)."""
        return transformed(self.kind, x, self.mean, self.scale, normalize)
