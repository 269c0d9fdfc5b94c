"""Autoencoders with sigmoid codes: one layer, greedy stacks, and one code for two modalities."""

from itertools import combinations, pairwise

import torch
from torch import nn
from torch.nn.functional import cross_entropy, dropout, mse_loss

from crossmodal.encoders.mlp import LayersByView, layers_of, linear
from crossmodal.losses import squared_error
from crossmodal.stages import Stage, Vectors


class Autoencoder(nn.Module):
    """h = s(W x + b), x^ = W' h + c, with untied weights.

    Args:
        width: Number of inputs.
        units: Size of the code.
        activation: s.
    """

    def __init__(self, width: int, units: int, activation: type[nn.Module] = nn.Sigmoid) -> None:
        super().__init__()
        self.encode = nn.Sequential(linear(width, units), activation())
        self.decode = linear(units, width)

    def loss(self, x: torch.Tensor, noise: float) -> torch.Tensor:
        """Error of reconstructing x (b, width) from a copy with a share `noise` set to zero."""
        return squared_error(self.decode(self.encode(dropout(x, noise))), x)


class DenoisingStack(nn.Module):
    """Autoencoders on top of each other; each learns from what the one below gives.

    They learn at the same time, and no gradient passes from one to another: Vincent et al., JMLR
    11, 2010, without the waiting.

    Args:
        widths: Of the input and of each code.
        noise: Share of the inputs of each layer that is set to zero in training.
    """

    def __init__(self, widths: list[int], noise: float) -> None:
        super().__init__()
        self.noise, self.units = noise, widths[-1]
        self.layers = nn.ModuleList(Autoencoder(a, b) for a, b in pairwise(widths))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The last code (b, units)."""
        for layer in self.layers:
            x = layer.encode(x)
        return x

    def loss(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Sum of the layers' reconstruction errors, and the last code (b, units) for others."""
        losses = []
        for layer in self.layers:
            losses.append(layer.loss(x, self.noise))
            with torch.no_grad():
                x = layer.encode(x)
        return sum(losses), x


class DenoisingStacks(Stage):
    """A stage: one stack per modality, without labels or pairing.

    Args:
        widths: Number of inputs of each modality.
        hidden: Sizes of the codes of each modality.
        noise: See `DenoisingStack`.
        input_norm: See `Stage`.
    """

    def __init__(
        self, widths: dict[str, int], hidden: LayersByView, noise: float, input_norm: str
    ) -> None:
        super().__init__(widths, input_norm)
        stacks = {m: DenoisingStack([w, *layers_of(m, hidden)], noise) for m, w in widths.items()}
        self.stacks = nn.ModuleDict(stacks)

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """The last codes (n, units)."""
        return self.stacks[modality](x)

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Sum of both stacks' reconstruction errors."""
        return sum(self.stacks[m].loss(rows)[0] for m, rows in x.items())


class BimodalAutoencoder(nn.Module):
    """One code for two modalities, from which either reconstructs both.

        h = s(sum_m W_m x_m + b),   x^_m = W'_m h + c_m,   labels ~ softmax(V h + d)

    Args:
        widths: Number of inputs of each modality.
        units: Size of the code.
        classes: C, of the label head; 0 makes none.
    """

    def __init__(self, widths: dict[str, int], units: int, classes: int) -> None:
        super().__init__()
        self.encoders = nn.ModuleDict({m: linear(w, units, bias=False) for m, w in widths.items()})
        self.bias = nn.Parameter(torch.zeros(units))
        self.decoders = nn.ModuleDict({m: linear(units, w) for m, w in widths.items()})
        self.head = linear(units, classes) if classes else None

    def code(self, x: Vectors) -> torch.Tensor:
        """h (b, units) of the modalities that are given."""
        return torch.sigmoid(sum(self.encoders[m](rows) for m, rows in x.items()) + self.bias)

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Mean over the rows (x_1, 0), (0, x_2) and (x_1, x_2), which all reconstruct both.

        Errors are means over features, of the scale of the label head's cross-entropy.
        """
        losses = []
        for given in [*combinations(x, 1), *combinations(x, 2)]:
            h = self.code({m: x[m] for m in given})
            losses += [mse_loss(self.decoders[m](h), rows) for m, rows in x.items()]
            if self.head is not None:
                losses.append(cross_entropy(self.head(h), labels))
        return sum(losses) / 3
