"""The speech encoder of VASE (Cheng et al., IEEE TMM 2022): DAVEnet, BiGRU, linear map."""

import torch
from torch import nn

from crossmodal.encoders.davenet import STRIDE, DAVEnet
from crossmodal.encoders.sequences import BiGRU


class SpeechEncoder(nn.Module):
    """Log-mel frames (b, t, 40) to vectors (b, dims), not normalised.

    Args:
        dims: d, even: each direction of the GRU has d/2 units.
        width: Multiplier of DAVEnet's channels.
        recurrent_layers: Layers of the GRU.
    """

    def __init__(self, dims: int, width: float, recurrent_layers: int) -> None:
        super().__init__()
        self.convolutions = DAVEnet(width)
        self.recurrent = BiGRU(self.convolutions.channels, dims // 2, recurrent_layers)
        self.project = nn.Linear(dims, dims)

    def forward(self, frames: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Encode a padded batch (b, t, 40) whose rows have `lengths` (b,) frames."""
        # rounded down as in the released code, whose 0 steps for under 16 frames would give NaN
        steps = (lengths // STRIDE).clamp(min=1)
        return self.project(self.recurrent(self.convolutions(frames), steps))
