"""DCCA: two networks whose outputs correlate most (Andrew, Arora, Bilmes and Livescu, ICML 2013).

Trained to maximise the total canonical correlation of a batch, see
`crossmodal.canonical_correlation`. Then linear CCA of all training outputs gives the variates,
weighted by the correlations to the power s; retrieval by their cosine, as by Yan and Mikolajczyk,
Deep correlation for matching images and text, CVPR 2015.
Cost of 40,000 pairs of 4,096 + 1,000 columns: 3.0 GB with the features, 13 minutes of
one core.
"""

from collections.abc import Iterable
from typing import Annotated

import torch
from pydantic import Field
from torch import nn

from crossmodal.canonical_correlation import total_correlation
from crossmodal.encoders.mlp import Layers, linear, mlp
from crossmodal.linear.inputs import InputNorm
from crossmodal.linear.whitening import canonical_directions, whitener
from crossmodal.stages import Stage, StagedMethod, Vectors


class DCCA(StagedMethod):
    """Deep CCA by mini-batches.

    Args:
        dims: o, outputs of each network and size of the shared space.
        hidden: Units of the hidden layers of both networks; [] makes the method linear.
        dropout: Of the hidden layers.
        ridge: r of both covariances, in the loss and in the linear CCA of the outputs.
        power: s, exponent of the correlations in the embedding.
        input_norm: Scaling of the features, fitted on the training split.
        learning_rate: Of Adam.
        weight_decay: L2 penalty of the weights.
        batch: Pairs per step, more than `dims`, best by several times.
        epochs: Passes over the training split.
    """

    supervised = False

    def __init__(
        self,
        dims: Annotated[int, Field(gt=0)],
        hidden: Layers,
        dropout: Annotated[float, Field(ge=0, lt=1)],
        ridge: Annotated[float, Field(ge=0)],
        power: Annotated[float, Field(ge=0)],
        input_norm: InputNorm,
        learning_rate: Annotated[float, Field(gt=0)],
        weight_decay: Annotated[float, Field(ge=0)],
        batch: Annotated[int, Field(gt=1)],
        epochs: Annotated[int, Field(gt=0)],
    ) -> None:
        self.dims, self.hidden, self.dropout = dims, hidden, dropout
        self.ridge, self.power, self.input_norm = ridge, power, input_norm
        self.rate, self.weight_decay, self.batch = learning_rate, weight_decay, batch
        self.stage_epochs = (epochs,)

    def stages(self, widths: dict[str, int]) -> list[Stage]:
        """The two networks."""
        layers = {m: [width, *self.hidden] for m, width in widths.items()}
        return [CorrelatedNetworks(layers, self.dims, self.dropout, self.ridge, self.input_norm)]

    def readout(self, modalities: Iterable[str]) -> nn.Module:
        """Linear CCA of the outputs."""
        return CanonicalVariates(modalities, self.dims, self.ridge, self.power)


class CorrelatedNetworks(Stage):
    """A stage: sigmoid networks with batch normalisation before their linear outputs.

    Args:
        layers: Widths of the inputs and of the hidden layers, by modality.
        outputs: o.
        dropout: Of the hidden layers.
        ridge: r.
        input_norm: See `Stage`.
    """

    def __init__(
        self,
        layers: dict[str, list[int]],
        outputs: int,
        dropout: float,
        ridge: float,
        input_norm: str,
    ) -> None:
        super().__init__({m: units[0] for m, units in layers.items()}, input_norm)
        self.ridge = ridge
        self.branches = nn.ModuleDict(
            {m: _branch(units, outputs, dropout) for m, units in layers.items()}
        )

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Outputs (n, o)."""
        return self.branches[modality](x)

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """The total correlation of the batch, negative."""
        outputs = (self.encode(m, rows) for m, rows in x.items())
        return -total_correlation(*outputs, self.ridge)


class CanonicalVariates(nn.Module):
    """A readout: canonical variates of the outputs of two networks.

    Args:
        modalities: Which there are.
        dims: o.
        ridge: r.
        power: s.
    """

    def __init__(self, modalities: Iterable[str], dims: int, ridge: float, power: float) -> None:
        super().__init__()
        self.ridge, self.power = ridge, power
        for modality in modalities:
            self.register_buffer(f"mean_{modality}", torch.zeros(dims))
            self.register_buffer(f"map_{modality}", torch.eye(dims))

    def fit(self, codes: Vectors) -> None:
        """Linear CCA of training outputs (n, o)."""
        means = {m: rows.double().mean(0) for m, rows in codes.items()}
        first, second = (rows.double() - means[m] for m, rows in codes.items())
        count = len(first) - 1
        whiteners = [whitener((h.T @ h / count).cpu().numpy(), self.ridge) for h in (first, second)]
        cross = (first.T @ second / count).cpu().numpy()
        a, rho, b = canonical_directions(whiteners[0], cross, whiteners[1])
        for modality, directions in zip(codes, (a, b), strict=True):
            self.get_buffer(f"mean_{modality}").copy_(means[modality])
            matrix = self.get_buffer(f"map_{modality}").zero_()  # outputs that are constant get 0
            matrix[:, : len(rho)] = torch.from_numpy(directions[:, : len(rho)] * rho**self.power)

    def forward(self, modality: str, codes: torch.Tensor) -> torch.Tensor:
        """Variates (n, o)."""
        return (codes - self.get_buffer(f"mean_{modality}")) @ self.get_buffer(f"map_{modality}")


def _branch(layers: list[int], outputs: int, dropout: float) -> nn.Sequential:
    last = linear(layers[-1], outputs)
    if len(layers) == 1:
        return nn.Sequential(last)
    hidden = mlp(layers, nn.Sigmoid, dropout)
    return nn.Sequential(hidden, nn.BatchNorm1d(layers[-1], affine=False), last)
