"""Scaling of features by training statistics, which are kept with the network."""

import torch
from torch import nn
from torch.nn.functional import normalize


class Scaler(nn.Module):
    """Scales a view's features as they come, by training statistics, or to unit rows.

    Args:
        width: Number of features.
        kind: 'raw': as they are; 'zscore': z-scores of each column; 'l2': unit rows.
    """

    def __init__(self, width: int, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))

    def fit(self, x: torch.Tensor) -> None:
        """Take mean and standard deviation from training rows (n, width)."""
        if self.kind == "zscore":
            deviation = x.std(0, correction=0)
            self.mean.copy_(x.mean(0))
            self.scale.copy_(torch.where(deviation > 0, deviation, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scaled features (n, width)."""
        return normalize(x) if self.kind == "l2" else (x - self.mean) / self.scale
