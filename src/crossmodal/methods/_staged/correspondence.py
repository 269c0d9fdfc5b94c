"""The correspondence autoencoder (Feng, Wang and Li, ACM MM 2014).

    h_m = sig(W_m x_m + b_m),   x^_nm = W'_nm h_n + c_nm        reconstruction of m from code n
    L = (1 - a) sum |x_m - x^_nm|^2 + a |h_1 - h_2|^2

Each code reconstructs its own modality (corr), the other (cross) or both (full).
"""

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import nn

from crossmodal.methods._staged.autoencoders import PretrainingOptions
from crossmodal.methods._staged.stages import Stage, Vectors
from crossmodal.nn.losses import squared_error
from crossmodal.nn.mlp import Layers, linear
from crossmodal.plugin import Share

Reconstructs = Literal["own", "other", "both"]


class CorrespondenceOptions(PretrainingOptions):
    """Options of a correspondence autoencoder on pretrained stacks."""

    pretrained: dict[str, Annotated[Layers, Field(min_length=1)]] = Field(
        description="Units of the denoising autoencoders below, by modality."
    )
    correlation_weight: Share = Field(
        description="Weight a of the distance of the codes; at 1 the codes collapse."
    )


class CorrespondenceAutoencoder(Stage):
    """A stage: two autoencoders whose codes are pulled together.

    Args:
        widths: Number of inputs of each modality.
        units: Size of both codes.
        reconstructs: What a code reconstructs: 'own' is Corr-AE, 'other' Corr-Cross-AE, 'both'
            Corr-Full-AE.
        correlation_weight: a.
        input_norm: See `Stage`.
    """

    def __init__(
        self,
        widths: dict[str, int],
        units: int,
        reconstructs: Reconstructs,
        correlation_weight: float,
        input_norm: str,
    ) -> None:
        super().__init__(widths, input_norm)
        self.correlation_weight = correlation_weight
        self.encoders = nn.ModuleDict({m: linear(w, units) for m, w in widths.items()})
        wanted = {"own": (True,), "other": (False,), "both": (True, False)}[reconstructs]
        self.decoders = nn.ModuleDict(
            {
                source: nn.ModuleDict(
                    {m: linear(units, w) for m, w in widths.items() if (m == source) in wanted}
                )
                for source in widths
            }
        )

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """h (n, units)."""
        return torch.sigmoid(self.encoders[modality](x))

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """L, a mean over the pairs."""
        codes = {m: self.encode(m, rows) for m, rows in x.items()}
        reconstruction = sum(
            squared_error(decode(codes[source]), x[target])
            for source, decoders in self.decoders.items()
            for target, decode in decoders.items()
        )
        weight = self.correlation_weight
        return (1 - weight) * reconstruction + weight * squared_error(*codes.values())
