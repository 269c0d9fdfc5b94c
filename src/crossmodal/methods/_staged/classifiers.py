"""One classifier per modality, whose last hidden layer is a representation."""

import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import cross_entropy

from crossmodal.learning.scaling import Kind
from crossmodal.methods._staged.stages import Stage, Vectors
from crossmodal.nn.losses import total
from crossmodal.nn.mlp import Layers, LayersByView, layers_of, linear, mlp
from crossmodal.plugin import Count, Strict


class ClassifierOptions(Strict):
    """Options of the classifiers of a method that has further stages."""

    classifier: Layers = Field(
        min_length=1, description="Units of the hidden layers of each classifier."
    )
    dropout: float = Field(
        ge=0, lt=1, description="Dropout rate of the hidden layers of the classifiers."
    )
    classifier_steps: Count = Field(description="Steps of the classifiers.")


class Classifiers(Stage):
    """A stage: per modality a ReLU network and a softmax over the classes; pairs are ignored.

    Args:
        widths: Number of inputs of each modality.
        hidden: Units of the hidden layers of each modality.
        classes: Number C of classes.
        dropout: Dropout of the hidden layers.
        scaling: See `Stage`.
    """

    def __init__(
        self,
        widths: dict[str, int],
        hidden: LayersByView,
        classes: int,
        dropout: float,
        scaling: Kind,
    ) -> None:
        super().__init__(widths, scaling)
        layers = {m: [width, *layers_of(m, hidden)] for m, width in widths.items()}
        self.branches = nn.ModuleDict({m: mlp(u, nn.ReLU, dropout) for m, u in layers.items()})
        self.heads = nn.ModuleDict({m: linear(u[-1], classes) for m, u in layers.items()})

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Return the last hidden layer (n, units)."""
        return self.branches[modality](x)

    def logits(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Return logarithms of the class posteriors (n, C), up to a constant per row."""
        return self.heads[modality](self.branches[modality](x))

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Return the sum of both cross-entropies."""
        return total(cross_entropy(self.logits(m, rows), labels) for m, rows in x.items())
