"""Deep-SM: deep semantic matching, retrieval by class posteriors (Wei et al. 2017).

One classifier per modality; what is compared are the posteriors. Pairs play no part in training.

Source: Y. Wei et al., Cross-modal retrieval with CNN visual features: a new baseline, IEEE Trans.
Cybernetics 47(2), 2017, with precomputed features in place of the fine-tuned CNN; semantic matching
is by Rasiwasia et al., ACM MM 2010.
Cost of 40,000 pairs of 4,096 + 1,000 columns: at most 2.5 GB with the features, 8 minutes of
one core.
"""

from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch.nn.functional import softmax

from crossmodal.encoders.classifiers import Classifiers
from crossmodal.encoders.mlp import LayersByView
from crossmodal.evaluation.retrieval import inner_product
from crossmodal.linear.inputs import InputNorm
from crossmodal.losses import squared_error
from crossmodal.methods.base import Direction
from crossmodal.stages import Stage, StagedMethod, Vectors

SMALLEST = np.finfo(np.float32).tiny


class DeepSM(StagedMethod):
    """Two independent classifiers.

    Args:
        hidden: Units of the hidden layers, by modality.
        dropout: Of the hidden layers.
        loss: 'cross_entropy', or 'squared': the squared distance of posteriors and labels, in which
            an item's labels share a weight of 1.
        temperature: The logits are divided by it when items are embedded.
        similarity: Of posteriors: 'dot', 'cosine', 'centred' (the cosine after subtracting each
            one's mean, which is Pearson's correlation) or 'kl' (-KL(query, document)).
        input_norm: Scaling of the features, fitted on the training split.
        learning_rate: Of SGD.
        momentum: Of SGD.
        weight_decay: L2 penalty of the weights.
        batch: Items per step.
        epochs: Passes over the training split.
    """

    supervised = True

    def __init__(
        self,
        hidden: LayersByView,
        dropout: Annotated[float, Field(ge=0, lt=1)],
        loss: Literal["cross_entropy", "squared"],
        temperature: Annotated[float, Field(gt=0)],
        similarity: Literal["dot", "cosine", "centred", "kl"],
        input_norm: InputNorm,
        learning_rate: Annotated[float, Field(gt=0)],
        momentum: Annotated[float, Field(ge=0, lt=1)],
        weight_decay: Annotated[float, Field(ge=0)],
        batch: Annotated[int, Field(gt=1)],
        epochs: Annotated[int, Field(gt=0)],
    ) -> None:
        self.hidden, self.dropout, self.squared = hidden, dropout, loss == "squared"
        self.temperature, self.similarity = temperature, similarity
        self.input_norm = input_norm
        self.rate, self.momentum, self.weight_decay = learning_rate, momentum, weight_decay
        self.batch, self.stage_epochs = batch, (epochs,)

    def stages(self, widths: dict[str, int]) -> list[Stage]:
        """The two classifiers."""
        return [Posteriors(widths, self)]

    def optimizer(self) -> torch.optim.Optimizer:
        """SGD with momentum."""
        return torch.optim.SGD(self.parameter_groups(), self.rate, momentum=self.momentum)

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Similarity (q, g) of posteriors."""
        if self.similarity == "dot":
            return queries @ gallery.T
        if self.similarity == "kl":
            entropies = (queries * np.log(queries.clip(SMALLEST))).sum(axis=1, keepdims=True)
            return queries @ np.log(gallery.clip(SMALLEST)).T - entropies
        if self.similarity == "centred":
            queries, gallery = (p - p.mean(axis=1, keepdims=True) for p in (queries, gallery))
        return inner_product(queries, gallery)


class Posteriors(Classifiers):
    """A stage: classifiers whose output are the class posteriors.

    Args:
        widths: Number of inputs of each modality.
        options: Those of the method.
    """

    def __init__(self, widths: dict[str, int], options: DeepSM) -> None:
        super().__init__(
            widths, options.hidden, options.classes, options.dropout, options.input_norm
        )
        self.temperature, self.squared = options.temperature, options.squared

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Posteriors (n, C)."""
        return softmax(self.logits(modality, x) / self.temperature, dim=1)

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Sum of both classifiers' losses."""
        if not self.squared:
            return super().loss(x, labels)
        return sum(squared_error(softmax(self.logits(m, rows), 1), labels) for m, rows in x.items())
