"""Deep-SM: deep semantic matching, retrieval by class posteriors (Wei et al. 2017).

One classifier per modality; retrieval compares their posteriors. Training ignores the pairs.

Source: Y. Wei et al., Cross-modal retrieval with CNN visual features: a new baseline, IEEE Trans.
Cybernetics 47(2), 2017, with precomputed features in place of the fine-tuned CNN; semantic matching
is by Rasiwasia et al., ACM MM 2010.
Cost of 40,000 pairs of 4,096 + 1,000 columns: at most 2.5 GB with the features, 8 minutes of
one core.
"""

from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch.nn.functional import softmax

from crossmodal.learning.method import Direction
from crossmodal.methods._staged.classifiers import Classifiers
from crossmodal.methods._staged.stages import SingleStageMethod, Stage, StagedOptions
from crossmodal.nn.mlp import LayersByView
from crossmodal.vectors import inner_product


class DeepSM(SingleStageMethod):
    """Two independent classifiers.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import DeepSM
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> deep = DeepSM(hidden={"image": [], "text": []}, epochs=2).fit(sepals, petals, species)
        >>> deep.similarity(sepals, petals).shape
        (150, 150)
    """

    supervised = True

    class Options(StagedOptions):
        """Options of the classifiers and of the similarity."""

        hidden: LayersByView = Field(description="Units of the hidden layers, by modality.")
        dropout: float = Field(ge=0, lt=1, description="Dropout rate of the hidden layers.")
        similarity: Literal["dot", "centred"] = Field(
            description="Similarity of posteriors: 'dot', or 'centred', Pearson's correlation."
        )
        momentum: float = Field(0.9, ge=0, lt=1, description="Momentum of SGD.")

    options: Options

    def stages(self, widths: dict[str, int]) -> list[Stage]:
        """Return the two classifiers."""
        return [Posteriors(widths, self.classes, self.options)]

    def optimizer(self) -> torch.optim.Optimizer:
        """Return SGD with momentum."""
        return torch.optim.SGD(
            self.parameter_groups(), self.options.learning_rate, momentum=self.options.momentum
        )

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Return similarities (q, g) of posteriors."""
        if self.options.similarity == "dot":
            return queries @ gallery.T
        queries, gallery = (p - p.mean(axis=1, keepdims=True) for p in (queries, gallery))
        return inner_product(queries, gallery)


class Posteriors(Classifiers):
    """The only stage: classifiers that output the class posteriors.

    Args:
        widths: Number of inputs of each modality.
        classes: Number C of classes.
        options: Options of the method.
    """

    def __init__(self, widths: dict[str, int], classes: int, options: DeepSM.Options) -> None:
        super().__init__(widths, options.hidden, classes, options.dropout, options.scaling)

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Return posteriors (n, C)."""
        return softmax(self.logits(modality, x), dim=1)
