"""Autoencoders with sigmoid codes: one layer, greedy stacks, and one code for two modalities."""

from itertools import combinations, pairwise

import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import cross_entropy, dropout, mse_loss

from crossmodal.learning.scaling import Kind
from crossmodal.methods._staged.stages import Stage, Vectors
from crossmodal.nn.losses import squared_error, total
from crossmodal.nn.mlp import LayersByView, layers_of, linear
from crossmodal.nn.typed import ModulesByName, ModulesInOrder
from crossmodal.plugin import Count, Strict


class PretrainingOptions(Strict):
    """Options of the denoising autoencoders."""

    noise: float = Field(
        0.2, ge=0, lt=1, description="Share of an autoencoder's inputs set to zero in pretraining."
    )
    pretraining_steps: Count = Field(description="Steps of the denoising autoencoders.")


class Autoencoder(nn.Module):
    """An autoencoder h = z(s(W x + b)), x^ = W' h + c, with untied weights.

    z are z-scores by statistics of batches, so that later layers read codes scaled.

    Args:
        width: Number of inputs.
        units: Size of the code.
        activation: s.
    """

    def __init__(self, width: int, units: int, activation: type[nn.Module] = nn.Sigmoid) -> None:
        super().__init__()
        scaled = nn.BatchNorm1d(units, affine=False)
        self.encode = nn.Sequential(linear(width, units), activation(), scaled)
        self.decode = linear(units, width)

    def loss(self, x: torch.Tensor, noise: float) -> torch.Tensor:
        """Return the error of reconstructing x (b, width) with a share `noise` of it set to 0."""
        return squared_error(self.decode(self.encode(dropout(x, noise))), x)


class DenoisingStack(nn.Module):
    """A stack of autoencoders; each learns from the codes of the one below.

    They learn simultaneously, and no gradient passes between them, where Vincent et al., JMLR 11,
    2010, train one after the other.

    Args:
        widths: Sizes of the input and of each code.
        noise: Fraction of the inputs of each layer that is set to zero in training.
    """

    def __init__(self, widths: list[int], noise: float) -> None:
        super().__init__()
        self.noise, self.units = noise, widths[-1]
        self.layers = ModulesInOrder[Autoencoder](Autoencoder(a, b) for a, b in pairwise(widths))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the last code (b, units)."""
        for layer in self.layers:
            x = layer.encode(x)
        return x

    def loss(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the sum of the layers' reconstruction errors, and the last code (b, units)."""
        losses = []
        for layer in self.layers:
            losses.append(layer.loss(x, self.noise))
            with torch.no_grad():
                x = layer.encode(x)
        return total(losses), x


class DenoisingStacks(Stage):
    """A stage: one stack per modality, without labels or pairing.

    Args:
        widths: Number of inputs of each modality.
        hidden: Sizes of the codes of each modality.
        noise: See `DenoisingStack`.
        scaling: See `Stage`.
    """

    def __init__(
        self, widths: dict[str, int], hidden: LayersByView, noise: float, scaling: Kind
    ) -> None:
        super().__init__(widths, scaling)
        self.stacks = ModulesByName[DenoisingStack](
            {m: DenoisingStack([w, *layers_of(m, hidden)], noise) for m, w in widths.items()}
        )

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Return the last codes (n, units)."""
        return self.stacks[modality](x)

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Return the sum of both stacks' reconstruction errors."""
        return total(self.stacks[m].loss(rows)[0] for m, rows in x.items())


class BimodalAutoencoder(nn.Module):
    """One code for two modalities, from which either reconstructs both.

        h = s(sum_m W_m x_m + b),   x^_m = W'_m h + c_m,   labels ~ softmax(V h + d)

    Args:
        widths: Number of inputs of each modality.
        units: Size of the code.
        classes: Number C of classes of the label head; 0 for no head.
    """

    def __init__(self, widths: dict[str, int], units: int, classes: int) -> None:
        super().__init__()
        self.encoders = nn.ModuleDict({m: linear(w, units, bias=False) for m, w in widths.items()})
        self.bias = nn.Parameter(torch.zeros(units))
        self.decoders = nn.ModuleDict({m: linear(units, w) for m, w in widths.items()})
        self.head = linear(units, classes) if classes else None

    def code(self, x: Vectors) -> torch.Tensor:
        """Return the code h (b, units) of the given modalities."""
        return torch.sigmoid(sum(self.encoders[m](rows) for m, rows in x.items()) + self.bias)

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Return the mean over (x_1, 0), (0, x_2) and (x_1, x_2), which all reconstruct both.

        Errors are means over features, on the scale of the label head's cross-entropy.
        """
        losses = []
        for given in [*combinations(x, 1), *combinations(x, 2)]:
            h = self.code({m: x[m] for m in given})
            losses += [mse_loss(self.decoders[m](h), rows) for m, rows in x.items()]
            if self.head is not None:
                losses.append(cross_entropy(self.head(h), labels))
        return total(losses) / 3
