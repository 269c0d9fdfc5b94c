"""DCCA: two networks with maximally correlated outputs (Andrew, Arora, Bilmes, Livescu, ICML 2013).

Trained to maximise the total canonical correlation of a batch, see
`crossmodal.nn.correlation`. Then linear CCA of all training outputs gives the variates,
weighted by the correlations to the power s; retrieval by their cosine, as by Yan and Mikolajczyk,
Deep correlation for matching images and text, CVPR 2015.
Cost of 40,000 pairs of 4,096 + 1,000 columns: 3.0 GB with the features, 13 minutes of
one core.
"""

from collections.abc import Iterable

import torch
from pydantic import Field
from torch import nn

from crossmodal.learning.scaling import Kind
from crossmodal.methods._linear.whitening import canonical_directions, whitener
from crossmodal.methods._staged.stages import (
    Readout,
    SingleStageMethod,
    Stage,
    StagedOptions,
    Vectors,
)
from crossmodal.nn.correlation import total_correlation
from crossmodal.nn.mlp import Layers, linear, mlp
from crossmodal.plugin import Count, NotNegative


class DCCA(SingleStageMethod):
    """Deep CCA on mini-batches; without hidden layers it is linear.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import DCCA
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> dcca = DCCA(dims=2, hidden=[8], epochs=2).fit(sepals, petals, species)
        >>> dcca.similarity(sepals, petals).shape
        (150, 150)
    """

    supervised = False

    class Options(StagedOptions):
        """Options of the networks and of CCA; `batch` should be several times `dims`."""

        dims: Count = Field(
            description="Outputs o of each network: dimensions of the shared space."
        )
        hidden: Layers = Field(
            description="Units of the hidden layers of both networks; [] makes the method linear."
        )
        dropout: float = Field(ge=0, lt=1, description="Dropout rate of the hidden layers.")
        ridge: NotNegative = Field(
            description="Ridge r of both covariances, in the loss and in the CCA of the outputs."
        )
        power: NotNegative = Field(
            description="Exponent s of the canonical correlations in the embedding."
        )

    options: Options

    def stages(self, widths: dict[str, int]) -> list[Stage]:
        """Return the two networks."""
        o = self.options
        layers = {m: [width, *o.hidden] for m, width in widths.items()}
        return [CorrelatedNetworks(layers, o.dims, o.dropout, o.ridge, o.scaling)]

    def readout(self, modalities: Iterable[str]) -> Readout:
        """Return linear CCA of the outputs."""
        o = self.options
        return CanonicalVariates(modalities, o.dims, o.ridge, o.power)


class CorrelatedNetworks(Stage):
    """A stage: sigmoid networks with batch normalisation before their linear outputs.

    Args:
        layers: Widths of the inputs and of the hidden layers, by modality.
        outputs: Number o of outputs.
        dropout: Dropout of the hidden layers.
        ridge: r, added to the diagonal of both covariances.
        scaling: See `Stage`.
    """

    def __init__(
        self,
        layers: dict[str, list[int]],
        outputs: int,
        dropout: float,
        ridge: float,
        scaling: Kind,
    ) -> None:
        super().__init__({m: units[0] for m, units in layers.items()}, scaling)
        self.ridge = ridge
        self.branches = nn.ModuleDict(
            {m: _branch(units, outputs, dropout) for m, units in layers.items()}
        )

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Return outputs (n, o)."""
        return self.branches[modality](x)

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Return the negative total correlation of the batch."""
        first, second = (self.encode(m, rows) for m, rows in x.items())
        return -total_correlation(first, second, self.ridge)


class CanonicalVariates(Readout):
    """A readout: canonical variates of the outputs of two networks.

    Args:
        modalities: Names of the modalities.
        dims: Number o of outputs.
        ridge: r, added to the diagonal of both covariances.
        power: s, exponent of the correlations.
    """

    def __init__(self, modalities: Iterable[str], dims: int, ridge: float, power: float) -> None:
        super().__init__()
        self.ridge, self.power = ridge, power
        for modality in modalities:
            self.register_buffer(f"mean_{modality}", torch.zeros(dims))
            self.register_buffer(f"map_{modality}", torch.eye(dims))

    def fit(self, codes: Vectors) -> None:
        """Fit linear CCA to training outputs (n, o)."""
        means = {m: rows.double().mean(0) for m, rows in codes.items()}
        first, second = (rows.double() - means[m] for m, rows in codes.items())
        count = len(first) - 1
        whiteners = [whitener((h.T @ h / count).cpu().numpy(), self.ridge) for h in (first, second)]
        cross = (first.T @ second / count).cpu().numpy()
        a, rho, b = canonical_directions(whiteners[0], cross, whiteners[1])
        for modality, directions in zip(codes, (a, b), strict=True):
            self.get_buffer(f"mean_{modality}").copy_(means[modality])
            # beyond the rank the variates are 0
            matrix = self.get_buffer(f"map_{modality}").zero_()
            matrix[:, : len(rho)] = torch.from_numpy(directions[:, : len(rho)] * rho**self.power)

    def forward(self, modality: str, codes: torch.Tensor) -> torch.Tensor:
        """Return variates (n, o)."""
        return (codes - self.get_buffer(f"mean_{modality}")) @ self.get_buffer(f"map_{modality}")


def _branch(layers: list[int], outputs: int, dropout: float) -> nn.Sequential:
    last = linear(layers[-1], outputs)
    if len(layers) == 1:
        return nn.Sequential(last)
    hidden = mlp(layers, nn.Sigmoid, dropout)
    return nn.Sequential(hidden, nn.BatchNorm1d(layers[-1], affine=False), last)
