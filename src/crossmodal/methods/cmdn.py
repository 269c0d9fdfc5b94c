"""CMDN: cross-media multiple deep networks (Peng, Huang and Qi, IJCAI 2016), on autoencoders.

Stage by stage:
1. per modality a stack of denoising autoencoders (intra-media), and another one whose codes a
   bimodal autoencoder joins across the modalities (inter-media); an autoencoder fuses the two;
2. per modality a classifier on the fused code, whose last hidden layer is kept;
3. a stack of bimodal autoencoders with label heads; each modality is then encoded by itself.
Retrieval by the cosine of the last codes.

Source: Y. Peng, X. Huang, J. Qi, Cross-media shared representation by hierarchical learning with
multiple deep networks, and the released configuration, in which stage 1 is made of RBMs.
Cost of 40,000 pairs of 4,096 + 1,000 columns: 4.3 GB with the features, 25 minutes of
one core, most of it for stage 1.
"""

from typing import Annotated

import torch
from pydantic import Field
from torch import nn

from crossmodal.encoders.autoencoders import Autoencoder, BimodalAutoencoder, DenoisingStack
from crossmodal.encoders.classifiers import Classifiers
from crossmodal.encoders.mlp import Layers, LayersByView, layers_of
from crossmodal.linear.inputs import InputNorm
from crossmodal.stages import ScoreNorm, Stage, StagedMethod, Vectors

Units = Annotated[int, Field(gt=0)]
SomeLayers = Annotated[Layers, Field(min_length=1)]


class CMDN(StagedMethod):
    """CMDN with denoising autoencoders in place of deep belief networks.

    Args:
        intra: Units of the intra-media stacks.
        inter: Units of the inter-media stacks, by modality.
        joint: Units of the code that joins them.
        fused: Units of the code of intra- and inter-media representation.
        noise: Share of an autoencoder's inputs set to zero in pretraining.
        classifier: Units of the hidden layers of the classifiers.
        dropout: Of these.
        bimodal: Units of the bimodal autoencoders; the last are the size of the shared space.
        input_norm: Scaling of the features, fitted on the training split.
        score_norm: Of the codes, see `StagedMethod`.
        learning_rate: Of Adam.
        weight_decay: L2 penalty of the weights.
        batch: Pairs per step.
        pretraining_epochs: Passes over the training split in stage 1.
        classifier_epochs: In stage 2.
        epochs: In stage 3.
    """

    supervised = True

    def __init__(
        self,
        intra: SomeLayers,
        inter: LayersByView,
        joint: Units,
        fused: Units,
        noise: Annotated[float, Field(ge=0, lt=1)],
        classifier: SomeLayers,
        dropout: Annotated[float, Field(ge=0, lt=1)],
        bimodal: SomeLayers,
        input_norm: InputNorm,
        score_norm: ScoreNorm,
        learning_rate: Annotated[float, Field(gt=0)],
        weight_decay: Annotated[float, Field(ge=0)],
        batch: Annotated[int, Field(gt=1)],
        pretraining_epochs: Units,
        classifier_epochs: Units,
        epochs: Units,
    ) -> None:
        self.intra, self.inter, self.joint, self.fused = intra, inter, joint, fused
        self.noise, self.classifier, self.dropout = noise, classifier, dropout
        self.bimodal, self.dims = bimodal, bimodal[-1]
        self.input_norm, self.score_norm = input_norm, score_norm
        self.rate, self.weight_decay, self.batch = learning_rate, weight_decay, batch
        self.stage_epochs = (pretraining_epochs, classifier_epochs, epochs)

    def stages(self, widths: dict[str, int]) -> list[Stage]:
        """Representations, classifiers and bimodal autoencoders."""
        fused = dict.fromkeys(widths, self.fused)
        hidden = dict.fromkeys(widths, self.classifier)
        return [
            Representations(widths, self),
            Classifiers(fused, hidden, self.classes, self.dropout, "raw"),
            BimodalStack(dict.fromkeys(widths, self.classifier[-1]), self.bimodal, self.classes),
        ]


class Representations(Stage):
    """Stage 1: all parts learn at the same time, each from what the parts below it give.

    Args:
        widths: Number of inputs of each modality.
        options: Those of the method.
    """

    def __init__(self, widths: dict[str, int], options: CMDN) -> None:
        super().__init__(widths, options.input_norm)
        self.noise = noise = options.noise
        intra = {m: DenoisingStack([w, *options.intra], noise) for m, w in widths.items()}
        inter = {
            m: DenoisingStack([w, *layers_of(m, options.inter)], noise) for m, w in widths.items()
        }
        self.intra, self.inter = nn.ModuleDict(intra), nn.ModuleDict(inter)
        units = {m: stack.units for m, stack in inter.items()}
        self.joint = BimodalAutoencoder(units, options.joint, classes=0)
        both = options.intra[-1] + options.joint
        self.fusion = nn.ModuleDict({m: Autoencoder(both, options.fused) for m in widths})

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Fused codes (n, units)."""
        intra, inter = self.intra[modality](x), self.inter[modality](x)
        return self.fusion[modality].encode(self._both(modality, intra, inter))

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Sum of all reconstruction errors."""
        intra = {m: self.intra[m].loss(rows) for m, rows in x.items()}
        inter = {m: self.inter[m].loss(rows) for m, rows in x.items()}
        losses = [error for stack in (intra, inter) for error, _ in stack.values()]
        losses.append(self.joint.loss({m: code for m, (_, code) in inter.items()}, labels))
        for m in x:
            both = self._both(m, intra[m][1], inter[m][1]).detach()
            losses.append(self.fusion[m].loss(both, self.noise))
        return sum(losses)

    def _both(self, modality: str, intra: torch.Tensor, inter: torch.Tensor) -> torch.Tensor:
        """Intra-media code and, without the other modality, joint code, (n, units)."""
        return torch.cat([intra, self.joint.code({modality: inter})], dim=1)


class BimodalStack(Stage):
    """Stage 3: bimodal autoencoders; all learn at the same time, each from the one below.

    Args:
        widths: Number of inputs of each modality; they are z-scored.
        units: Sizes of the codes.
        classes: C.
    """

    def __init__(self, widths: dict[str, int], units: list[int], classes: int) -> None:
        super().__init__(widths, "zscore")
        inputs = [widths, *(dict.fromkeys(widths, u) for u in units)]
        self.levels = nn.ModuleList(
            BimodalAutoencoder(below, u, classes) for below, u in zip(inputs, units, strict=False)
        )

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """The last codes (n, units) of one modality."""
        for level in self.levels:
            x = level.code({modality: x})
        return x

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Sum of the levels' losses."""
        losses = []
        for level in self.levels:
            losses.append(level.loss(x, labels))
            x = {m: level.code({m: rows}).detach() for m, rows in x.items()}
        return sum(losses)
