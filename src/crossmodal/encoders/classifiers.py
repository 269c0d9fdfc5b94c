"""Classifiers of each modality by itself, whose hidden layer is a representation."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from crossmodal.encoders.mlp import LayersByView, layers_of, linear, mlp
from crossmodal.stages import Stage, Vectors


class Classifiers(Stage):
    """A stage: a ReLU network and a softmax over the classes per modality; no pairing.

    Args:
        widths: Number of inputs of each modality.
        hidden: Units of the hidden layers of each modality.
        classes: C.
        dropout: Of the hidden layers.
        input_norm: See `Stage`.
    """

    def __init__(
        self,
        widths: dict[str, int],
        hidden: LayersByView,
        classes: int,
        dropout: float,
        input_norm: str,
    ) -> None:
        super().__init__(widths, input_norm)
        layers = {m: [width, *layers_of(m, hidden)] for m, width in widths.items()}
        self.branches = nn.ModuleDict({m: mlp(u, nn.ReLU, dropout) for m, u in layers.items()})
        self.heads = nn.ModuleDict({m: linear(u[-1], classes) for m, u in layers.items()})

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """The last hidden layer (n, units)."""
        return self.branches[modality](x)

    def logits(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Logarithms of the class posteriors (n, C), up to a constant per row."""
        return self.heads[modality](self.branches[modality](x))

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Sum of both cross-entropies."""
        return sum(cross_entropy(self.logits(m, rows), labels) for m, rows in x.items())
