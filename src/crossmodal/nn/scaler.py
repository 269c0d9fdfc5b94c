"""Scaling of features by training statistics, which are kept with the network."""

import torch
from torch import nn
from torch.nn.functional import normalize


class Scaler(nn.Module):
    """Scales a view's features as they come, by training statistics, or to unit rows.

    Args:
        width: Number of features.
        kind: 'raw': as they are; 'centre': columns without their mean, divided by one number, so
            that their mean variance is 1; 'zscore': z-scores of each column; 'l2': unit rows;
            'centre-l2' and 'zscore-l2': columns without their mean, or z-scores, and then unit
            rows; 'l2-centre': unit rows, and then columns without their mean.
    """

    def __init__(self, width: int, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))

    def fit(self, x: torch.Tensor) -> None:
        """Take mean and standard deviation from training rows (n, width)."""
        x = self._begun(x)
        if self.kind not in ("raw", "l2"):
            self.mean.copy_(x.mean(0))
        if self.kind == "centre" or self.kind.startswith("zscore"):
            deviation = x.std(0, correction=0)
            if self.kind == "centre":
                deviation = deviation.square().mean().sqrt()
            self.scale.copy_(torch.where(deviation > 0, deviation, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scaled features (n, width)."""
        x = (self._begun(x) - self.mean) / self.scale
        return normalize(x) if self.kind.endswith("-l2") else x

    def _begun(self, x: torch.Tensor) -> torch.Tensor:
        """Rows whose mean is subtracted next."""
        return normalize(x) if self.kind.startswith("l2") else x
