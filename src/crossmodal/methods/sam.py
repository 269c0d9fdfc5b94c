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
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import normalize

from crossmodal.data.learnable import require_labels
from crossmodal.data.split import Split, View
from crossmodal.device import device, to_device
from crossmodal.learning.curve import by_categories
from crossmodal.learning.scaling import ScalingOptions
from crossmodal.learning.scaling_layer import ScalingLayer
from crossmodal.nn.losses import ranking_loss
from crossmodal.nn.mlp import linear
from crossmodal.nn.precision import Precision, compute_in
from crossmodal.nn.typed import ModulesByName
from crossmodal.plugin import Count, NotNegative, Positive, Share
from crossmodal.training.gradient import ROWS, GradientMethod, shuffled_batches, vectors_in_parts

DIAMETER_SAMPLE = 5000


class SAM(GradientMethod[torch.Tensor]):
    """Two projections, trained with a margin that moves from constant to adaptive.

    Unlabelled training items are left out.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import SAM
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> sam = SAM(dims=4, hidden=8, epochs=2).fit(sepals, petals, species)
        >>> sam.similarity(sepals, petals).shape
        (150, 150)
    """

    class Options(ScalingOptions):
        dims: Count = Field(description="Dimensions D of the shared space.")
        hidden: Count = Field(description="Units of the hidden layer.")
        dropout: float = Field(ge=0, lt=1, description="Dropout rate of the hidden layer.")
        margin: NotNegative = Field(description="Constant margin m, in units of the cosine.")
        feature_share: Share = Field(
            description="Weight lambda of f_ms; that of f_mc is 1 - lambda."
        )
        activation: Share = Field(
            description="Share f_a of the epochs after which alpha(t) is one half."
        )
        slope: Positive = Field(description="Steepness k of alpha(t), per epoch.")
        schedule: Literal["sigmoid", "constant", "adaptive"] = Field(
            description="Schedule alpha(t): the 'sigmoid' of equation 6, 'constant' at 0 for the "
            "margin m alone, or 'adaptive' at 1; the latter with feature_share 1 is the "
            "paper's ablation."
        )
        learning_rate: Positive = Field(description="Initial learning rate of SGD.")
        momentum: float = Field(ge=0, lt=1, description="Nesterov momentum of SGD.")
        decay: NotNegative = Field(
            description="The learning rate of step s is learning_rate / (1 + decay s)."
        )
        batch: int = Field(gt=1, description="Pairs per step.")
        epochs: Count = Field(description="Passes n_e over the training split.")
        precision: Precision = "float32"

    options: Options

    task = "category"
    network: ModulesByName[nn.Sequential]

    def build(self, views: dict[str, View]) -> nn.Module:
        """Build one projection per modality; Glorot-uniform weights, zero biases."""
        projections = {m: self._projection(v.vectors().shape[1]) for m, v in views.items()}
        compute_in(self.options.precision, *projections.values())
        return ModulesByName[nn.Sequential](projections)

    def _projection(self, width: int) -> nn.Sequential:
        """Build scaling, then Linear-tanh-dropout-Linear-tanh, without normalisation."""
        options = self.options
        return nn.Sequential(
            ScalingLayer(width, options.scaling),
            linear(width, options.hidden),
            nn.Tanh(),
            nn.Dropout(options.dropout),
            linear(options.hidden, options.dims),
            nn.Tanh(),
        )

    def optimizer(self) -> torch.optim.Optimizer:
        """Return SGD with Nesterov momentum."""
        momentum = self.options.momentum
        parameters = self.network.parameters()
        return torch.optim.SGD(parameters, momentum=momentum, nesterov=momentum > 0)

    def learning_rate_at(self, epoch: int, step: int) -> float:
        """Return the learning rate, which falls with the number of steps."""
        return self.options.learning_rate / (1 + self.options.decay * step)

    def place(self, train: Split) -> None:
        """Place labelled pairs on the device; take the largest distance of each modality."""
        require_labels(train, negatives=True)
        items, rows = train.pairs()
        labelled = train.labels[items].any(axis=1)
        items, rows = items[labelled], {m: indices[labelled] for m, indices in rows.items()}
        self.names = train.label_names or [str(c) for c in range(train.labels.shape[1])]
        self.labels = torch.from_numpy(train.labels[items]).float().to(device())  # (m, C)
        self.inputs = {
            m: torch.from_numpy(v.taken(rows[m])).to(device()) for m, v in train.two_views().items()
        }
        for modality, x in self.inputs.items():
            scaling = self.network[modality][0]
            assert isinstance(scaling, ScalingLayer)
            scaling.fit(x)
        self.diameters = {m: _diameter(x) for m, x in self.inputs.items()}

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[torch.Tensor]:
        """Return shuffled pairs; take schedule and centroids at the epoch's start."""
        self.alpha = self._alpha(epoch)
        self.centroids = self._centroids()
        self.margin_sums = torch.zeros(2, *[self.labels.shape[1]] * 2, device=device())
        for rows in shuffled_batches(len(self.labels), self.options.batch, rng, drop_last=False):
            yield to_device(rows)

    def _alpha(self, epoch: int) -> float:
        """Return alpha(t), equation 6."""
        options = self.options
        if options.schedule != "sigmoid":
            return float(options.schedule == "adaptive")
        middle = options.activation * options.epochs
        return 1 / (1 + math.exp(-options.slope * (epoch - middle)))

    def loss(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the loss, equations 4 to 10, of a batch of pairs (b,)."""
        first, second = (self._project(m, x[batch]) for m, x in self.inputs.items())
        labels = self.labels[batch]
        negatives = (labels @ labels.T) == 0  # (b, b)
        margins = self.margins(batch)
        counted = torch.stack([margins * negatives, negatives.float()])
        self.margin_sums += labels.T @ counted @ labels  # sums and counts by pair of categories
        return ranking_loss(first @ second.T, margins, negatives) / len(batch)

    def log(self) -> dict[str, float]:
        """Return alpha(t) and the mean margin of the epoch's triplets.

        The margin is that of all (figure 4), and by the categories of anchor and negative, in
        either order (figures 5 and 6).
        """
        total, count = self.margin_sums.sum((1, 2))
        means = (self.margin_sums[0] / self.margin_sums[1]).cpu()  # NaN where there was no triplet
        pairs = itertools.combinations(enumerate(self.names), 2)
        between = {(first, second): float(means[a, b]) for (a, first), (b, second) in pairs}
        row = {"alpha": self.alpha, "margin": float(total / count)}
        return row | by_categories(between)

    def margins(self, batch: torch.Tensor) -> torch.Tensor:
        """Return F (b, b) of a batch at the current epoch."""
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
            share = self.options.feature_share
            adaptive = share * torch.stack(distances).mean(0) + (1 - share) * categories
            return self.alpha * adaptive + (1 - self.alpha) * self.options.margin

    def _centroids(self) -> dict[str, torch.Tensor]:
        """Return unit centroid of each category's projections, (C, D) per modality."""
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
        """Return unit projections (rows, D)."""
        return (self._project(modality, rows) for rows in vectors_in_parts(view))


def _diameter(x: torch.Tensor) -> torch.Tensor:
    """Return the largest distance of training rows, of evenly spaced ones where there are many."""
    step = -(-len(x) // DIAMETER_SAMPLE)
    parts = x[::step]
    largest = torch.stack([torch.cdist(part, parts).max() for part in parts.split(512)]).max()
    return largest.clamp(min=torch.finfo(x.dtype).tiny)
