"""CCL: cross-modal correlation learning by multi-task learning (Peng et al. 2018), coarse grain.

Stage by stage: a stack of denoising autoencoders per modality, a correspondence autoencoder on
both, a classifier per modality whose last hidden layer is kept, and then one network per modality

    f = W2 sig(W1 x + b1) + b2,   code = sig(f),   labels ~ softmax(V f + d)

trained with the cross-entropies and the contrastive loss over all pairs of a batch

    1/2b sum_ij [ same label: d_ij^2;  otherwise: max(0, margin - d_ij)^2 ]

Source: Y. Peng, J. Qi, X. Huang, Y. Yuan, CCL: cross-modal correlation learning with multigrained
fusion by hierarchical network, IEEE TMM 20(2), 2018. Whole images and texts alone, no parts of
them; autoencoders stand in for the RBMs.
Cost of 40,000 pairs of 4,096 + 1,000 columns: 3.6 GB with the features, 17 minutes of
one core, most of it for pretraining.
"""

from typing import Annotated

import torch
from pydantic import Field
from torch import nn
from torch.nn.functional import cross_entropy

from crossmodal.encoders.autoencoders import DenoisingStacks
from crossmodal.encoders.classifiers import Classifiers
from crossmodal.encoders.correspondence import CorrespondenceAutoencoder
from crossmodal.encoders.mlp import Layers, LayersByView, linear
from crossmodal.linear.inputs import InputNorm
from crossmodal.stages import ScoreNorm, Stage, StagedMethod, Vectors

Epochs = Annotated[int, Field(gt=0)]
SMALLEST = 1e-8  # squared distance below which the contrastive loss has no gradient


class CCL(StagedMethod):
    """Coarse-grained CCL.

    Args:
        dims: Size of the shared space, and units of the layers W1 and W2.
        pretrained: Units of the denoising autoencoders, by modality.
        noise: Share of their inputs set to zero in pretraining.
        correspondence: Units of the correspondence autoencoder.
        correlation_weight: Its a.
        classifier: Units of the hidden layers of the classifiers.
        dropout: Of these.
        margin: Of the contrastive loss.
        contrastive_weight: Of the contrastive loss against the cross-entropies; the released code
            steps as with 2.
        input_norm: Scaling of the features, fitted on the training split.
        score_norm: Of the codes, see `StagedMethod`.
        learning_rate: Of Adam.
        weight_decay: L2 penalty of the weights.
        batch: Pairs per step.
        pretraining_epochs: Passes over the training split for the denoising autoencoders.
        correspondence_epochs: For the correspondence autoencoder.
        classifier_epochs: For the classifiers.
        epochs: For the last networks.
    """

    supervised = True

    def __init__(
        self,
        dims: Annotated[int, Field(gt=0)],
        pretrained: LayersByView,
        noise: Annotated[float, Field(ge=0, lt=1)],
        correspondence: Annotated[int, Field(gt=0)],
        correlation_weight: Annotated[float, Field(ge=0, le=1)],
        classifier: Annotated[Layers, Field(min_length=1)],
        dropout: Annotated[float, Field(ge=0, lt=1)],
        margin: Annotated[float, Field(ge=0)],
        contrastive_weight: Annotated[float, Field(ge=0)],
        input_norm: InputNorm,
        score_norm: ScoreNorm,
        learning_rate: Annotated[float, Field(gt=0)],
        weight_decay: Annotated[float, Field(ge=0)],
        batch: Annotated[int, Field(gt=1)],
        pretraining_epochs: Epochs,
        correspondence_epochs: Epochs,
        classifier_epochs: Epochs,
        epochs: Epochs,
    ) -> None:
        self.dims, self.pretrained, self.noise = dims, pretrained, noise
        self.correspondence, self.correlation_weight = correspondence, correlation_weight
        self.classifier, self.dropout = classifier, dropout
        self.margin, self.contrastive_weight = margin, contrastive_weight
        self.input_norm, self.score_norm = input_norm, score_norm
        self.rate, self.weight_decay, self.batch = learning_rate, weight_decay, batch
        self.stage_epochs = (pretraining_epochs, correspondence_epochs, classifier_epochs, epochs)

    def stages(self, widths: dict[str, int]) -> list[Stage]:
        """Stacks, correspondence autoencoder, classifiers and the networks of both tasks."""
        stacks = DenoisingStacks(widths, self.pretrained, self.noise, self.input_norm)
        correspondence = CorrespondenceAutoencoder(
            {m: self.pretrained[m][-1] for m in widths},
            self.correspondence,
            "own",
            self.correlation_weight,
            "raw",
        )
        codes = dict.fromkeys(widths, self.correspondence)
        hidden = dict.fromkeys(widths, self.classifier)
        classifiers = Classifiers(codes, hidden, self.classes, self.dropout, "raw")
        kept = dict.fromkeys(widths, self.classifier[-1])
        weights = self.margin, self.contrastive_weight
        tasks = TwoTasks(kept, self.dims, self.classes, *weights)
        return [stacks, correspondence, classifiers, tasks]


class TwoTasks(Stage):
    """A stage: labels of each modality and similarity across them, from the same layer.

    Args:
        widths: Number of inputs of each modality; they are z-scored.
        units: Of both layers.
        classes: C.
        margin: Of the contrastive loss.
        contrastive_weight: Of the contrastive loss.
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
        """Codes (n, units)."""
        return torch.sigmoid(self.layers[modality](x))

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Both cross-entropies and the contrastive loss."""
        shared = {m: self.layers[m](rows) for m, rows in x.items()}
        intra = sum(cross_entropy(self.heads[m](rows), labels) for m, rows in shared.items())
        codes = (torch.sigmoid(rows) for rows in shared.values())
        inter = contrastive_loss(*codes, labels @ labels.T > 0, self.margin)
        return intra + self.contrastive_weight * inter


def contrastive_loss(
    first: torch.Tensor, second: torch.Tensor, same: torch.Tensor, margin: float
) -> torch.Tensor:
    """1/2b sum_ij [ same_ij: d_ij^2; otherwise: max(0, margin - d_ij)^2 ], a scalar.

    Args:
        first: Codes (b, d) of one modality.
        second: Codes (b, d) of the other.
        same: Which pairs (b, b) belong together, bool.
        margin: Distance beyond which other pairs cost nothing.
    """
    squared = first.square().sum(1)[:, None] + second.square().sum(1) - 2 * first @ second.T
    squared = squared.clamp(min=SMALLEST)  # the root has no gradient at 0
    apart = (margin - squared.sqrt()).clamp(min=0).square()
    return torch.where(same, squared, apart).sum() / (2 * len(first))
