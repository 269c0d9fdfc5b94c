"""The correspondence autoencoder (Feng, Wang and Li, ACM MM 2014).

h_m = sig(W_m x_m + b_m),   x^_m = W'_m h_m + c_m
L = (1 - a) sum_m |x_m - x^_m|^2 + a |h_1 - h_2|^2
"""

from typing import Annotated

import torch
from pydantic import Field
from torch import nn

from crossmodal.learning.scaling import Kind
from crossmodal.methods._staged.autoencoders import PretrainingOptions
from crossmodal.methods._staged.stages import Stage, Vectors
from crossmodal.nn.losses import squared_error, total
from crossmodal.nn.mlp import Layers, linear
from crossmodal.nn.typed import ModulesByName
from crossmodal.plugin import Share


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
        correlation_weight: a.
        scaling: See `Stage`.
    """

    def __init__(
        self,
        widths: dict[str, int],
        units: int,
        correlation_weight: float,
        scaling: Kind,
    ) -> None:
        super().__init__(widths, scaling)
        self.correlation_weight = correlation_weight
        self.encoders = nn.ModuleDict({m: linear(w, units) for m, w in widths.items()})
        # nested, as in models that were saved when codes could reconstruct other modalities
        self.decoders = ModulesByName[nn.ModuleDict](
            {m: nn.ModuleDict({m: linear(units, w)}) for m, w in widths.items()}
        )

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Return codes h (n, units)."""
        return torch.sigmoid(self.encoders[modality](x))

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Return L, a mean over the pairs."""
        codes = {m: self.encode(m, rows) for m, rows in x.items()}
        reconstruction = total(
            squared_error(self.decoders[m][m](codes[m]), rows) for m, rows in x.items()
        )
        weight = self.correlation_weight
        return (1 - weight) * reconstruction + weight * squared_error(*codes.values())
