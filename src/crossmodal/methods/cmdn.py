"""CMDN: cross-media multiple deep networks (Peng, Huang and Qi, IJCAI 2016), on autoencoders.

Stage by stage:
1. per modality a stack of denoising autoencoders (intra-media), and another one whose codes a
   bimodal autoencoder joins across the modalities (inter-media); an autoencoder fuses both codes;
2. per modality a classifier on the fused code, whose last hidden layer is kept;
3. a stack of bimodal autoencoders with label heads; each modality is then encoded separately.
Retrieval by the cosine of the last codes.

Source: Y. Peng, X. Huang, J. Qi, Cross-media shared representation by hierarchical learning with
multiple deep networks, and the released configuration, in which stage 1 consists of RBMs.
Inputs of stages 2 and 3, and of each autoencoder on codes, are z-scored.
Cost of the published steps at 4,096 + 1,000 columns, whatever the number of pairs: about 20
hours of one core, most of it for stage 1; 4.3 GB at 40,000 pairs.
"""

import torch
from pydantic import Field
from torch import nn

from crossmodal.methods._staged.autoencoders import (
    Autoencoder,
    BimodalAutoencoder,
    DenoisingStack,
    PretrainingOptions,
)
from crossmodal.methods._staged.classifiers import ClassifierOptions, Classifiers
from crossmodal.methods._staged.stages import Stage, Vectors
from crossmodal.methods._staged.standardised import StandardisedMethod, StandardisedOptions
from crossmodal.nn.losses import total
from crossmodal.nn.mlp import Layers, LayersByView, layers_of
from crossmodal.nn.typed import ModulesByName, ModulesInOrder
from crossmodal.plugin import Count


class CMDN(StandardisedMethod):
    """CMDN with denoising autoencoders in place of deep belief networks.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import CMDN
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> layers = {"image": [4, 4], "text": [4, 4]}
        >>> sizes = dict(intra=[4, 4], inter=layers, joint=4, fused=4, classifier=[4], bimodal=[4])
        >>> steps = dict(pretraining_steps=2, classifier_steps=2, steps=2)
        >>> cmdn = CMDN(**sizes, **steps).fit(sepals, petals, species)
        >>> cmdn.similarity(sepals, petals).shape
        (150, 150)
    """

    supervised = True

    class Options(PretrainingOptions, ClassifierOptions, StandardisedOptions):
        """Options of the representations and of the last stage."""

        intra: Layers = Field(
            min_length=1, description="Units of the intra-media stack of each modality."
        )
        inter: LayersByView = Field(description="Units of the inter-media stacks, by modality.")
        joint: Count = Field(description="Units of the code that joins the inter-media stacks.")
        fused: Count = Field(
            description="Units of the code that fuses intra- and inter-media representation."
        )
        bimodal: Layers = Field(
            min_length=1,
            description="Units of the bimodal autoencoders; the last of them, of the codes.",
        )

    options: Options

    @property
    def code_width(self) -> int:
        """Return the size of the last codes."""
        return self.options.bimodal[-1]

    @property
    def stage_steps(self) -> tuple[int, ...]:
        """Return the steps of representations, classifiers and bimodal autoencoders."""
        options = self.options
        return (options.pretraining_steps, options.classifier_steps, options.steps)

    def stages(self, widths: dict[str, int]) -> list[Stage]:
        """Return representations, classifiers and bimodal autoencoders."""
        options, classes = self.options, self.classes
        fused = dict.fromkeys(widths, options.fused)
        hidden = dict.fromkeys(widths, options.classifier)
        features = dict.fromkeys(widths, options.classifier[-1])
        return [
            Representations(widths, options),
            Classifiers(fused, hidden, classes, options.dropout, "zscore"),
            BimodalStack(features, options.bimodal, classes),
        ]


class Representations(Stage):
    """Stage 1: all autoencoders learn simultaneously, each from the codes of those below.

    Args:
        widths: Number of inputs of each modality.
        options: Options of the method.
    """

    def __init__(self, widths: dict[str, int], options: CMDN.Options) -> None:
        super().__init__(widths, options.scaling)
        self.noise = noise = options.noise
        self.intra = ModulesByName[DenoisingStack](
            {m: DenoisingStack([w, *options.intra], noise) for m, w in widths.items()}
        )
        self.inter = ModulesByName[DenoisingStack](
            {m: DenoisingStack([w, *layers_of(m, options.inter)], noise) for m, w in widths.items()}
        )
        units = {m: self.inter[m].units for m in widths}
        self.joint = BimodalAutoencoder(units, options.joint, classes=0)
        both = options.intra[-1] + options.joint
        self.scaled = nn.ModuleDict({m: nn.BatchNorm1d(both, affine=False) for m in widths})
        self.fusion = ModulesByName[Autoencoder](
            {m: Autoencoder(both, options.fused) for m in widths}
        )

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Return fused codes (n, units)."""
        intra, inter = self.intra[modality](x), self.inter[modality](x)
        return self.fusion[modality].encode(self._both(modality, intra, inter))

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Return the sum of all reconstruction errors."""
        intra = {m: self.intra[m].loss(rows) for m, rows in x.items()}
        inter = {m: self.inter[m].loss(rows) for m, rows in x.items()}
        losses = [error for stack in (intra, inter) for error, _ in stack.values()]
        losses.append(self.joint.loss({m: code for m, (_, code) in inter.items()}, labels))
        for m in x:
            with torch.no_grad():
                both = self._both(m, intra[m][1], inter[m][1])
            losses.append(self.fusion[m].loss(both, self.noise))
        return total(losses)

    def _both(self, modality: str, intra: torch.Tensor, inter: torch.Tensor) -> torch.Tensor:
        """Return intra-media code and, without the other modality, joint code, z-scored."""
        codes = torch.cat([intra, self.joint.code({modality: inter})], dim=1)
        return self.scaled[modality](codes)


class BimodalStack(Stage):
    """Stage 3: bimodal autoencoders, which learn simultaneously, each from the one below.

    Args:
        widths: Number of inputs of each modality; they are z-scored.
        units: Sizes of the codes.
        classes: Number C of classes.
    """

    def __init__(self, widths: dict[str, int], units: list[int], classes: int) -> None:
        super().__init__(widths, "zscore")
        inputs = [widths, *(dict.fromkeys(widths, u) for u in units)]
        self.levels = ModulesInOrder[BimodalAutoencoder](
            BimodalAutoencoder(below, u, classes) for below, u in zip(inputs, units, strict=False)
        )

    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Return the last codes (n, units) of one modality."""
        for level in self.levels:
            x = level.code({modality: x})
        return x

    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Return the sum of the levels' losses."""
        losses = []
        for level in self.levels:
            losses.append(level.loss(x, labels))
            x = {m: level.code({m: rows}).detach() for m, rows in x.items()}
        return total(losses)
