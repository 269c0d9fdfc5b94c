"""SAM: scheduled adaptive margins (Semedo and Magalhaes, ACM MM 2019).

    L = 1/b sum_ij N_ij [ max(0, F_ij - S_ii + S_ij) + max(0, F_ij - S_ii + S_ji) ]
    F_ij(t) = alpha(t) A_ij(t) + (1 - alpha(t)) m                                     (equation 5)
    alpha(t) = 1 / (1 + exp(-k (t - f_a n_e)))                                        (equation 6)
    A_ij(t) = lambda f_ms(i, j) + (1 - lambda) f_mc(class i, class j; t)              (equation 7)

S is the cosine of the projections, N tells different categories. f_ms is the distance of the
original features, f_mc that of the current category centroids, both averaged over the modalities
and in [0, 1]. No gradient passes through F.

Cost of 40,000 pairs of 4,096 + 1,000 columns: 2.7 GB with the features, 22 minutes of two
cores for 100 epochs.
"""

import itertools
import math
from collections.abc import Iterable
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import normalize

from crossmodal.data import Split, View
from crossmodal.devices import device
from crossmodal.encoders.products import Linear
from crossmodal.encoders.scaler import Scaler
from crossmodal.errors import CrossmodalError
from crossmodal.losses import ranking_loss
from crossmodal.training import GradientMethod, shuffled_batches

Share = Annotated[float, Field(ge=0, le=1)]
DIAMETER_SAMPLE = 5000
ROWS = 4096


class SAM(GradientMethod):
    """Two projections, trained with a margin that moves from constant to adaptive.

    Args:
        dims: D, size of the shared space.
        hidden: Units of the hidden layer.
        dropout: Of the hidden layer.
        margin: m, the constant margin.
        feature_share: lambda, weight of f_ms against f_mc.
        activation: f_a, share of the epochs after which alpha(t) is one half.
        slope: k, steepness of alpha(t) per epoch.
        schedule: alpha(t): the 'sigmoid' of equation 6, 'constant' at 0 for the margin m alone, or
            'adaptive' at 1 throughout; with feature_share 1, the latter is the paper's ablation.
        input_norm: Scaling of the features, fitted on the training split: as they are, z-scores of
            each column, or unit rows.
        learning_rate: Of SGD with Nesterov momentum.
        momentum: Nesterov momentum.
        decay: The learning rate of step s is learning_rate / (1 + decay s).
        batch: Pairs per step.
        epochs: n_e.
    """

    task = "category"

    def __init__(
        self,
        dims: Annotated[int, Field(gt=0)],
        hidden: Annotated[int, Field(gt=0)],
        dropout: Annotated[float, Field(ge=0, lt=1)],
        margin: Annotated[float, Field(ge=0)],
        feature_share: Share,
        activation: Share,
        slope: Annotated[float, Field(gt=0)],
        schedule: Literal["sigmoid", "constant", "adaptive"],
        input_norm: Literal["raw", "zscore", "l2"],
        learning_rate: Annotated[float, Field(gt=0)],
        momentum: Annotated[float, Field(ge=0, lt=1)],
        decay: Annotated[float, Field(ge=0)],
        batch: Annotated[int, Field(gt=1)],
        epochs: Annotated[int, Field(gt=0)],
    ) -> None:
        self.dims, self.hidden, self.dropout = dims, hidden, dropout
        self.margin, self.feature_share = margin, feature_share
        self.activation, self.slope, self.schedule = activation, slope, schedule
        self.input_norm = input_norm
        self.initial_rate, self.momentum, self.decay = learning_rate, momentum, decay
        self.batch, self.epochs = batch, epochs

    def build(self, views: dict[str, View]) -> nn.Module:
        """One projection per modality; Glorot-uniform weights, zero biases."""
        return nn.ModuleDict({m: self._projection(v.vectors().shape[1]) for m, v in views.items()})

    def _projection(self, width: int) -> nn.Module:
        """Scaler, then Linear-tanh-dropout-Linear-tanh; the output is not yet normalised."""
        layers = [Linear(width, self.hidden), Linear(self.hidden, self.dims)]
        for layer in layers:
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        first, second = layers
        dropout = nn.Dropout(self.dropout)
        return nn.Sequential(
            Scaler(width, self.input_norm), first, nn.Tanh(), dropout, second, nn.Tanh()
        )

    def optimizer(self) -> torch.optim.Optimizer:
        """SGD with Nesterov momentum."""
        parameters = self.network.parameters()
        nesterov = self.momentum > 0
        return torch.optim.SGD(
            parameters, self.initial_rate, momentum=self.momentum, nesterov=nesterov
        )

    def learning_rate(self, epoch: int, step: int) -> float:
        """Time decay."""
        return self.initial_rate / (1 + self.decay * step)

    def place(self, train: Split) -> None:
        """Pairs and labels on the device; the largest distance of each modality."""
        if len(unlabelled := np.flatnonzero(~train.labels.any(axis=1))):
            raise CrossmodalError(
                f"item {train.items[unlabelled[0]]!r} has no label, but SAM needs one for each "
                f"training item; {len(unlabelled)} have none: leave them out of the split"
            )
        items, rows = train.pairs()
        self.names = train.label_names or range(train.labels.shape[1])
        self.labels = torch.from_numpy(train.labels[items]).float().to(device())  # (m, C)
        self.inputs = {
            m: torch.from_numpy(v.vectors().astype(np.float32)[rows[m]]).to(device())
            for m, v in train.two_views().items()
        }
        for modality, x in self.inputs.items():
            self.network[modality][0].fit(x)
        self.diameters = {m: _diameter(x) for m, x in self.inputs.items()}

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[torch.Tensor]:
        """Shuffled pairs; the schedule and the centroids are those of the epoch's start."""
        self.alpha = self._alpha(epoch)
        self.centroids = self._centroids()
        self.margin_sums = torch.zeros(2, *[self.labels.shape[1]] * 2, device=device())
        for rows in shuffled_batches(len(self.labels), self.batch, rng, drop_last=False):
            yield torch.from_numpy(rows).to(device())

    def _alpha(self, epoch: int) -> float:
        """Equation 6."""
        if self.schedule != "sigmoid":
            return float(self.schedule == "adaptive")
        return 1 / (1 + math.exp(-self.slope * (epoch - self.activation * self.epochs)))

    def loss(self, batch: torch.Tensor) -> torch.Tensor:
        """Equations 4 to 10 on a batch of pairs (b,)."""
        first, second = (self._project(m, x[batch]) for m, x in self.inputs.items())
        labels = self.labels[batch]
        negatives = (labels @ labels.T) == 0  # (b, b)
        margins = self.margins(batch)
        counted = torch.stack([margins * negatives, negatives.float()])
        self.margin_sums += labels.T @ counted @ labels  # sums and counts by pair of categories
        return ranking_loss(first @ second.T, margins, negatives) / len(batch)

    def log(self) -> dict[str, float]:
        """alpha(t), and the mean margin of the epoch's triplets: of all (figure 4), and by the
        categories of anchor and negative (figures 5 and 6), in either order.
        """
        total, count = self.margin_sums.sum((1, 2))
        means = (self.margin_sums[0] / self.margin_sums[1]).cpu()  # NaN where there was no triplet
        pairs = itertools.combinations(range(len(means)), 2)
        return {
            "alpha": self.alpha,
            "margin": float(total / count),
            **{f"margin {self.names[a]} | {self.names[b]}": float(means[a, b]) for a, b in pairs},
        }

    def margins(self, batch: torch.Tensor) -> torch.Tensor:
        """F (b, b) of a batch at the current epoch."""
        with torch.no_grad():
            distances = [
                (torch.cdist(x[batch], x[batch]) / self.diameters[m]).clamp(max=1)
                for m, x in self.inputs.items()
            ]
            # an item of several categories stands at the mean of their centroids
            own = [
                normalize(self.labels[batch] @ centroids) for centroids in self.centroids.values()
            ]
            categories = torch.stack([(1 - c @ c.T) / 2 for c in own]).mean(0).clamp(0, 1)
            share = self.feature_share
            adaptive = share * torch.stack(distances).mean(0) + (1 - share) * categories
            return self.alpha * adaptive + (1 - self.alpha) * self.margin

    def _centroids(self) -> dict[str, torch.Tensor]:
        """Unit centroid of each category's projections, (C, D) per modality."""
        self.network.eval()
        centroids = {}
        with torch.no_grad():
            for modality, x in self.inputs.items():
                projected = torch.cat([self._project(modality, part) for part in x.split(ROWS)])
                centroids[modality] = normalize(self.labels.T @ projected)
        return centroids

    def _project(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        return normalize(self.network[modality](x))

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Unit projections (rows, D)."""
        for start in range(0, len(view.items), ROWS):
            rows = view.vectors()[start : start + ROWS].astype(np.float32)
            yield self._project(modality, torch.from_numpy(rows).to(device()))


def _diameter(x: torch.Tensor) -> torch.Tensor:
    """Largest distance between training rows, over evenly spaced rows where there are many."""
    step = -(-len(x) // DIAMETER_SAMPLE)
    parts = x[::step]
    largest = torch.stack([torch.cdist(part, parts).max() for part in parts.split(512)]).max()
    return largest.clamp(min=torch.finfo(x.dtype).tiny)
