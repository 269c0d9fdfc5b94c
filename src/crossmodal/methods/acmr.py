"""ACMR: adversarial cross-modal retrieval (Wang et al., ACM MM 2017).

    min  alpha L_inv + beta L_dis + L_adv

over the projections and both classifiers, the projections getting the gradient of L_adv reversed:

    L_dis   cross-entropy of a label classifier that both modalities share
    L_inv   |v - t+| + lambda max(0, mu - |v - t-|), and the same from texts to images
    L_adv   cross-entropy of a classifier that tells the modalities apart

The reversed gradient is weighted l = 2 / (1 + exp(-10 p)) - 1, with p the fraction of epochs that
have passed. Among the items of the batch that share no label with an image, its negative t- is the
text of the one with the most similar image; likewise for texts.

Source: B. Wang, Y. Yang, X. Xu, A. Hanjalic, H. T. Shen, Adversarial cross-modal retrieval; shapes
and negatives of the released code, not its optimisers, which leave L_adv and L_dis without effect.
Cost of 40,000 pairs of 4,096 + 1,000 columns: at most 2.5 GB with the features, 9 minutes of
one core.
"""

import math
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import cross_entropy, normalize

from crossmodal.learning.method import Direction
from crossmodal.methods._staged.stages import SingleStageMethod, Stage, StagedOptions, Vectors
from crossmodal.nn.losses import total
from crossmodal.nn.mlp import LayersByView, layers_of, linear, mlp
from crossmodal.nn.typed import Context
from crossmodal.plugin import NotNegative, Positive

BETAS = (0.5, 0.999)  # of Adam


class ACMR(SingleStageMethod):
    """Tanh networks, a label classifier and a modality classifier.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import ACMR
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> hidden = {"image": [8], "text": [8]}
        >>> acmr = ACMR(dims=4, hidden=hidden, epochs=2).fit(sepals, petals, species)
        >>> acmr.similarity(sepals, petals).shape
        (150, 150)
    """

    supervised = True

    class Options(StagedOptions):
        """Options of the networks and of the objective."""

        dims: int = Field(gt=3, description="Dimensions of the shared space.")
        hidden: LayersByView = Field(description="Units of the hidden layers, by modality.")
        invariance_weight: NotNegative = Field(description="Weight alpha of L_inv.")
        discrimination_weight: NotNegative = Field(1.0, description="Weight beta of L_dis.")
        negative_weight: NotNegative = Field(
            1.0, description="Weight lambda of the hinge in L_inv."
        )
        margin: NotNegative = Field(
            description="Margin mu of the hinge in L_inv, a distance in the shared space."
        )
        reversal: NotNegative = Field(
            1.0, description="Factor of l: 1 is the paper's, 0 trains without adversary."
        )
        adversary_rate: Positive = Field(
            10.0,
            description="Learning rate of the modality classifier, in units of `learning_rate`.",
        )
        similarity: Literal["cosine", "euclidean"] = Field(
            description="Similarity: 'cosine', or 'euclidean', the negative squared distance."
        )

    options: Options

    def stages(self, widths: dict[str, int]) -> list[Stage]:
        """Return projections and classifiers."""
        return [AdversarialProjections(widths, self.classes, self.options)]

    def optimizer(self) -> torch.optim.Optimizer:
        """Return Adam with the released moments, and another learning rate for the adversary."""
        (stage,) = self.network.stages
        assert isinstance(stage, AdversarialProjections)
        adversary = list(stage.modalities.parameters())
        others = set(adversary)
        groups = self.parameter_groups()
        for group in groups:
            group["params"] = [p for p in group["params"] if p not in others]
        groups.append({"params": adversary, "factor": self.options.adversary_rate})
        return torch.optim.Adam(groups, self.options.learning_rate, BETAS, fused=True)

    @property
    def cosine(self) -> bool:
        """True if `score` is the cosine."""
        return self.options.similarity == "cosine"

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Return similarities (q, g)."""
        if self.cosine:
            return super().score(queries, gallery, direction)
        lengths = np.square(queries).sum(axis=1, keepdims=True), np.square(gallery).sum(axis=1)
        return 2 * queries @ gallery.T - lengths[0] - lengths[1]


class AdversarialProjections(Stage):
    """The only stage: projections, label classifier and modality classifier.

    Args:
        widths: Number of inputs of each modality.
        classes: Number C of classes.
        options: Options of the method.
    """

    def __init__(self, widths: dict[str, int], classes: int, options: ACMR.Options) -> None:
        super().__init__(widths, options.scaling)
        self.options, dims = options, options.dims
        self.projections = nn.ModuleDict(
            {m: mlp([w, *layers_of(m, options.hidden), dims], nn.Tanh) for m, w in widths.items()}
        )
        self.labels = linear(dims, classes)
        self.modalities = mlp([dims, dims // 2, dims // 4, 2], nn.Identity)

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Return projections (n, dims)."""
        return self.projections[modality](x)

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Return the objective."""
        codes = {m: self.encode(m, rows) for m, rows in x.items()}
        discrimination = total(cross_entropy(self.labels(rows), labels) for rows in codes.values())
        return (
            self.options.invariance_weight * self.invariance(codes, x, labels)
            + self.options.discrimination_weight * discrimination
            + self.adversary(*codes.values())
        )

    def invariance(self, codes: Vectors, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Return L_inv, a mean over the pairs."""
        first, second = codes
        between = distances(codes[first], codes[second])
        loss = 2 * between.mean()
        for anchor, other in ((first, second), (second, first)):
            negatives, exist = nearest_negatives(x[anchor], labels)
            apart = distances(codes[anchor], codes[other][negatives])
            hinge = (self.options.margin - apart).clamp(min=0) * exist
            loss = loss + self.options.negative_weight * hinge.mean()
        return loss

    def adversary(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """Return L_adv, whose gradient is reversed for the projections."""
        weight = self.options.reversal * (2 / (1 + math.exp(-10 * self.progress)) - 1)
        both = ReverseGradient.apply(torch.cat([first, second]), weight)
        modality = torch.arange(2, device=both.device).repeat_interleave(len(first))
        return cross_entropy(self.modalities(both), modality)


class ReverseGradient(torch.autograd.Function):
    """The identity, with the gradient multiplied by -weight."""

    @staticmethod
    def forward(ctx: Context, x: torch.Tensor, weight: float) -> torch.Tensor:
        """Return x unchanged."""
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Context, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the reversed gradient."""
        return -ctx.weight * gradient, None


def distances(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return Euclidean distances (b,) of the rows of two arrays (b, d)."""
    return torch.linalg.vector_norm(first - second, dim=1)


def nearest_negatives(x: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return for each row the most similar one among those that share no label with it.

    Args:
        x: (b, d).
        labels: (b, C), zero for labels that an item does not have.

    Returns:
        Indices of the rows (b,), and whether there is such a row (b,).
    """
    shared = labels @ labels.T > 0
    unit = normalize(x)
    similarity = (unit @ unit.T).masked_fill(shared, -torch.inf)
    return similarity.argmax(dim=1), ~shared.all(dim=1)
