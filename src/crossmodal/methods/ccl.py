"""CCL: cross-modal correlation learning by multi-task learning (Peng et al. 2018), coarse grain.

Stage by stage: a stack of denoising autoencoders per modality, a correspondence autoencoder on
both, a classifier per modality whose last hidden layer is kept, and then one network per modality

    f = W2 sig(W1 x + b1) + b2,   code = sig(f),   labels ~ softmax(V f + d)

trained with the cross-entropies and the contrastive loss over all pairs of a batch

    1/2b sum_ij [ same label: d_ij^2;  otherwise: max(0, margin - d_ij)^2 ]

Source: Y. Peng, J. Qi, X. Huang, Y. Yuan, CCL: cross-modal correlation learning with multigrained
fusion by hierarchical network, IEEE TMM 20(2), 2018. Only the coarse grain, without patches of
images and texts; autoencoders replace the RBMs.
Inputs of all stages but the first, and of each autoencoder on codes, are z-scored.
Cost of the published steps at 4,096 + 1,000 columns, whatever the number of pairs: about 8
hours of one core, most of it for pretraining; 3.6 GB at 40,000 pairs.
"""

import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import cross_entropy

from crossmodal.methods._staged.autoencoders import DenoisingStacks
from crossmodal.methods._staged.classifiers import ClassifierOptions, Classifiers
from crossmodal.methods._staged.correspondence import (
    CorrespondenceAutoencoder,
    CorrespondenceOptions,
)
from crossmodal.methods._staged.stages import Stage, Vectors
from crossmodal.methods._staged.standardised import StandardisedMethod, StandardisedOptions
from crossmodal.nn.losses import total
from crossmodal.nn.mlp import layers_of, linear
from crossmodal.plugin import Count, NotNegative

SMALLEST = 1e-8  # lower bound of squared distances


class CCL(StandardisedMethod):
    """Coarse-grained CCL.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import CCL
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> layers = {"image": [4], "text": [4]}
        >>> sizes = dict(dims=4, pretrained=layers, correspondence=4, classifier=[4])
        >>> steps = dict(pretraining_steps=2, correspondence_steps=2, classifier_steps=2, steps=2)
        >>> ccl = CCL(**sizes, **steps).fit(sepals, petals, species)
        >>> ccl.similarity(sepals, petals).shape
        (150, 150)
    """

    supervised = True

    class Options(CorrespondenceOptions, ClassifierOptions, StandardisedOptions):
        """Options of the correspondence autoencoder and of the last stage."""

        dims: Count = Field(
            description="Dimensions of the shared space, and units of the layers W1 and W2."
        )
        correspondence: Count = Field(description="Units of the correspondence autoencoder.")
        correspondence_steps: Count = Field(description="Steps of the correspondence autoencoder.")
        margin: NotNegative = Field(
            description="Margin of the contrastive loss, a distance of codes."
        )
        contrastive_weight: NotNegative = Field(
            1.0,
            description="Weight of the contrastive loss relative to the cross-entropies; 2 in the "
            "released code.",
        )

    options: Options

    @property
    def code_width(self) -> int:
        """Return the size of the codes."""
        return self.options.dims

    @property
    def stage_steps(self) -> tuple[int, ...]:
        """Return the steps of each of the four stages."""
        o = self.options
        return (o.pretraining_steps, o.correspondence_steps, o.classifier_steps, o.steps)

    def stages(self, widths: dict[str, int]) -> list[Stage]:
        """Return stacks, correspondence autoencoder, classifiers and the networks of both tasks."""
        o, classes = self.options, self.classes
        pretrained = {m: layers_of(m, o.pretrained)[-1] for m in widths}
        codes = dict.fromkeys(widths, o.correspondence)
        hidden = dict.fromkeys(widths, o.classifier)
        features = dict.fromkeys(widths, o.classifier[-1])
        return [
            DenoisingStacks(widths, o.pretrained, o.noise, o.scaling),
            CorrespondenceAutoencoder(pretrained, o.correspondence, o.correlation_weight, "zscore"),
            Classifiers(codes, hidden, classes, o.dropout, "zscore"),
            TwoTasks(features, o.dims, classes, o.margin, o.contrastive_weight),
        ]


class TwoTasks(Stage):
    """A stage: classification of each modality and similarity across them, from a shared layer.

    Args:
        widths: Number of inputs of each modality; they are z-scored.
        units: Units of both layers.
        classes: Number C of classes.
        margin: Margin of the contrastive loss.
        contrastive_weight: Weight of the contrastive loss.
    """

    def __init__(
        self,
        widths: dict[str, int],
        units: int,
        classes: int,
        margin: float,
        contrastive_weight: float,
    ) -> None:
        super().__init__(widths, "zscore")
        self.margin, self.contrastive_weight = margin, contrastive_weight
        self.layers = nn.ModuleDict(
            {
                m: nn.Sequential(linear(width, units), nn.Sigmoid(), linear(units, units))
                for m, width in widths.items()
            }
        )
        self.heads = nn.ModuleDict({m: linear(units, classes) for m in widths})

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Return codes (n, units)."""
        return torch.sigmoid(self.layers[modality](x))

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Return both cross-entropies and the contrastive loss."""
        shared = {m: self.layers[m](rows) for m, rows in x.items()}
        intra = total(cross_entropy(self.heads[m](rows), labels) for m, rows in shared.items())
        first, second = (torch.sigmoid(rows) for rows in shared.values())
        inter = contrastive_loss(first, second, labels @ labels.T > 0, self.margin)
        return intra + self.contrastive_weight * inter


def contrastive_loss(
    first: torch.Tensor, second: torch.Tensor, same: torch.Tensor, margin: float
) -> torch.Tensor:
    """Return 1/2b sum_ij [ same_ij: d_ij^2; otherwise: max(0, margin - d_ij)^2 ], a scalar.

    Args:
        first: Codes (b, d) of one modality.
        second: Codes (b, d) of the other.
        same: Whether the items of each pair share a label (b, b), bool.
        margin: Distance from which on pairs without a common label have no loss.
    """
    squared = first.square().sum(1)[:, None] + second.square().sum(1) - 2 * first @ second.T
    squared = squared.clamp(min=SMALLEST)  # the root has no gradient at 0
    apart = (margin - squared.sqrt()).clamp(min=0).square()
    return torch.where(same, squared, apart).sum() / (2 * len(first))
