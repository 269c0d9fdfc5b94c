"""Networks that read speech: a CNN over frames and, in VASE, a BiGRU behind it."""

from contextlib import nullcontext
from typing import Literal

import torch
from torch import nn

from crossmodal.device import half_precision
from crossmodal.nn.davenet import BINS, DAVEnet
from crossmodal.nn.harwath2016 import Harwath2016
from crossmodal.nn.onednn import Linear
from crossmodal.nn.resdavenet import ResDAVEnet
from crossmodal.nn.sequences import BiGRU

SpeechNetwork = Literal["davenet", "resdavenet", "harwath2016"]
NETWORKS: dict[SpeechNetwork, type[DAVEnet] | type[ResDAVEnet] | type[Harwath2016]] = {
    "davenet": DAVEnet,
    "resdavenet": ResDAVEnet,
    "harwath2016": Harwath2016,
}


class SpeechSteps(nn.Module):
    """A speech CNN: frames (b, t, bins) to steps (b, t / stride, channels).

    Args:
        network: Which.
        width: Multiplier of its channels.
        bins: Numbers of a frame.
    """

    def __init__(self, network: SpeechNetwork, width: float, bins: int = BINS) -> None:
        super().__init__()
        self.convolutions = NETWORKS[network](width, bins)
        self.channels = self.convolutions.channels

    def forward(
        self, frames: torch.Tensor, lengths: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Encode a padded batch (b, t, bins) whose rows have `lengths` (b,) frames.

        Returns:
            The steps, and how many of them each row has, (b,) on the CPU.
        """
        with half_precision() if frames.is_cuda else nullcontext():  # a method's own on a CPU
            steps = self.convolutions(frames)
        # rounded down as in the released code, whose 0 steps for under 16 frames would give NaN
        counts = (lengths // self.convolutions.stride).clamp(min=1)
        return steps.float(), counts


class SpeechEncoder(nn.Module):
    """The speech encoder of VASE (Cheng et al., IEEE TMM 2022): CNN, BiGRU, linear map.

    Maps frames (b, t, bins) to vectors (b, dims), not normalised.

    Args:
        network: Which CNN.
        dims: d, even: each direction of the GRU has d/2 units.
        width: Multiplier of the CNN's channels.
        recurrent_layers: Layers of the GRU.
        reads_padding: Whether the GRU reads all steps of the batch, or only those of the clip.
        bins: Numbers of a frame.
    """

    def __init__(
        self,
        network: SpeechNetwork,
        dims: int,
        width: float,
        recurrent_layers: int,
        reads_padding: bool,
        bins: int = BINS,
    ) -> None:
        super().__init__()
        self.reads_padding = reads_padding
        self.steps = SpeechSteps(network, width, bins)
        self.recurrent = BiGRU(self.steps.channels, dims // 2, recurrent_layers)
        self.project = Linear(dims, dims)

    def forward(self, frames: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Encode a padded batch (b, t, bins) whose rows have `lengths` (b,) frames."""
        steps, counts = self.steps(frames, lengths)
        if self.reads_padding:
            counts = torch.full_like(counts, steps.shape[1])
        return self.project(self.recurrent(steps, counts))
