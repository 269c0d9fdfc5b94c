"""ACMR: adversarial cross-modal retrieval (Wang et al., ACM MM 2017).

    min  alpha L_inv + beta L_dis + L_adv

over the projections and both classifiers, the projections getting the gradient of L_adv reversed:

    L_dis   cross-entropy of a label classifier that both modalities share
    L_inv   |v - t+| + lambda max(0, mu - |v - t-|), and the same from texts to images
    L_adv   cross-entropy of a classifier that tells the modalities apart

The reversed gradient is weighted l = 2 / (1 + exp(-10 p)) - 1, p being the share of epochs that has
passed. The negative of an image is the text of the item, of those in the batch that share no label,
whose image is most similar to it; likewise for texts.

Source: B. Wang, Y. Yang, X. Xu, A. Hanjalic, H. T. Shen, Adversarial cross-modal retrieval; shapes
and negatives of the released code, not its optimisers, which leave L_adv and L_dis without effect.
Cost of 40,000 pairs of 4,096 + 1,000 columns: at most 2.5 GB with the features, 9 minutes of
one core.
"""

import math
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import cross_entropy, normalize

from crossmodal.encoders.mlp import LayersByView, layers_of, linear, mlp
from crossmodal.linear.inputs import InputNorm
from crossmodal.methods.base import Direction
from crossmodal.stages import Stage, StagedMethod, Vectors

Weight = Annotated[float, Field(ge=0)]
BETAS = (0.5, 0.999)


class ACMR(StagedMethod):
    """Tanh networks, a label classifier and a modality classifier.

    Args:
        dims: Size of the shared space.
        hidden: Units of the hidden layers, by modality.
        invariance_weight: alpha.
        discrimination_weight: beta.
        negative_weight: lambda.
        margin: mu.
        reversal: Factor of l: 1 is the paper's, 0 trains without adversary.
        adversary_rate: Learning rate of the modality classifier, in units of `learning_rate`.
        similarity: 'cosine' or 'euclidean', the negative squared distance.
        input_norm: Scaling of the features, fitted on the training split.
        learning_rate: Of Adam.
        weight_decay: L2 penalty of the weights.
        batch: Pairs per step.
        epochs: Passes over the training split.
    """

    supervised = True

    def __init__(
        self,
        dims: Annotated[int, Field(gt=3)],
        hidden: LayersByView,
        invariance_weight: Weight,
        discrimination_weight: Weight,
        negative_weight: Weight,
        margin: Weight,
        reversal: Weight,
        adversary_rate: Annotated[float, Field(gt=0)],
        similarity: Literal["cosine", "euclidean"],
        input_norm: InputNorm,
        learning_rate: Annotated[float, Field(gt=0)],
        weight_decay: Weight,
        batch: Annotated[int, Field(gt=1)],
        epochs: Annotated[int, Field(gt=0)],
    ) -> None:
        self.dims, self.hidden = dims, hidden
        self.invariance_weight = invariance_weight
        self.discrimination_weight = discrimination_weight
        self.negative_weight, self.margin = negative_weight, margin
        self.reversal, self.adversary_rate = reversal, adversary_rate
        self.similarity, self.input_norm = similarity, input_norm
        self.rate, self.weight_decay = learning_rate, weight_decay
        self.batch, self.stage_epochs = batch, (epochs,)

    def stages(self, widths: dict[str, int]) -> list[Stage]:
        """Projections and classifiers."""
        return [AdversarialProjections(widths, self)]

    def optimizer(self) -> torch.optim.Optimizer:
        """Adam with the released moments; the adversary has to keep up with the projections."""
        adversary = list(self.network["stages"][0].modalities.parameters())
        known = set(adversary)
        groups = self.parameter_groups()
        for group in groups:
            group["params"] = [p for p in group["params"] if p not in known]
        groups.append({"params": adversary, "factor": self.adversary_rate})
        return torch.optim.Adam(groups, self.rate, BETAS, fused=True)

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Similarity (q, g)."""
        if self.similarity == "cosine":
            return super().score(queries, gallery, direction)
        lengths = np.square(queries).sum(axis=1, keepdims=True), np.square(gallery).sum(axis=1)
        return 2 * queries @ gallery.T - lengths[0] - lengths[1]


class AdversarialProjections(Stage):
    """A stage: everything that is trained.

    Args:
        widths: Number of inputs of each modality.
        options: Those of the method.
    """

    def __init__(self, widths: dict[str, int], options: ACMR) -> None:
        super().__init__(widths, options.input_norm)
        self.options, dims = options, options.dims
        self.projections = nn.ModuleDict(
            {m: mlp([w, *layers_of(m, options.hidden), dims], nn.Tanh) for m, w in widths.items()}
        )
        self.labels = linear(dims, options.classes)
        self.modalities = mlp([dims, dims // 2, dims // 4, 2], nn.Identity)

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Projections (n, dims)."""
        return self.projections[modality](x)

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """The objective."""
        codes = {m: self.encode(m, rows) for m, rows in x.items()}
        discrimination = sum(cross_entropy(self.labels(rows), labels) for rows in codes.values())
        return (
            self.options.invariance_weight * self.invariance(codes, x, labels)
            + self.options.discrimination_weight * discrimination
            + self.adversary(*codes.values())
        )

    def invariance(self, codes: Vectors, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """L_inv, a mean over the pairs."""
        first, second = codes
        between = distances(codes[first], codes[second])
        total = 2 * between.mean()
        for anchor, other in ((first, second), (second, first)):
            negatives, exist = nearest_negatives(x[anchor], labels)
            apart = distances(codes[anchor], codes[other][negatives])
            hinge = (self.options.margin - apart).clamp(min=0) * exist
            total = total + self.options.negative_weight * hinge.mean()
        return total

    def adversary(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """L_adv, which projections are to raise."""
        weight = self.options.reversal * (2 / (1 + math.exp(-10 * self.progress)) - 1)
        both = ReverseGradient.apply(torch.cat([first, second]), weight)
        modality = torch.arange(2, device=both.device).repeat_interleave(len(first))
        return cross_entropy(self.modalities(both), modality)


class ReverseGradient(torch.autograd.Function):
    """The identity, with the gradient multiplied by -weight."""

    @staticmethod
    def forward(ctx, x, weight):
        """The same x."""
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        """The reversed gradient."""
        return -ctx.weight * gradient, None


def distances(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Euclidean distances (b,) of the rows of two arrays (b, d)."""
    return torch.linalg.vector_norm(first - second, dim=1)


def nearest_negatives(x: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """For each row the most similar of the rows that share no label with it.

    Args:
        x: (b, d).
        labels: (b, C), zero where an item does not have the label.

    Returns:
        Rows (b,), and whether there is one at all (b,).
    """
    shared = labels @ labels.T > 0
    unit = normalize(x)
    similarity = (unit @ unit.T).masked_fill(shared, -torch.inf)
    return similarity.argmax(dim=1), ~shared.all(dim=1)
