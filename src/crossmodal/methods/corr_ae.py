"""Corr-AE: autoencoders of two modalities with corresponding codes (Feng, Wang and Li 2014).

Two autoencoders whose codes are pulled together on pairs, see `crossmodal.encoders.correspondence`,
on top of one pretrained stack per modality. Retrieval by the cosine of the codes.

Source: F. Feng, X. Wang, R. Li, Cross-modal retrieval with correspondence autoencoder, ACM MM 2014.
Denoising autoencoders stand in for the RBMs that the authors pretrain.
Cost of 40,000 pairs of 4,096 + 1,000 columns: 3.5 GB with the features, 14 minutes of
one core, most of it for pretraining.
"""

from typing import Annotated

from pydantic import Field

from crossmodal.encoders.autoencoders import DenoisingStacks
from crossmodal.encoders.correspondence import CorrespondenceAutoencoder, Reconstructs
from crossmodal.encoders.mlp import LayersByView
from crossmodal.linear.inputs import InputNorm
from crossmodal.stages import ScoreNorm, Stage, StagedMethod


class CorrAE(StagedMethod):
    """Corr-AE, Corr-Cross-AE and Corr-Full-AE.

    Args:
        dims: Units of the codes.
        pretrained: Units of the layers pretrained below, by modality; {} is none.
        noise: Share of their inputs set to zero in pretraining.
        reconstructs: What a code reconstructs: 'own' is Corr-AE, 'other' Corr-Cross-AE, 'both'
            Corr-Full-AE.
        correlation_weight: a, of the distance of the codes; 1 would collapse them.
        input_norm: Scaling of the features, fitted on the training split.
        score_norm: Of the codes, see `StagedMethod`.
        learning_rate: Of Adam.
        weight_decay: L2 penalty of the weights.
        batch: Pairs per step.
        pretraining_epochs: Passes over the training split for the layers below.
        epochs: Then, for the codes.
    """

    supervised = False

    def __init__(
        self,
        dims: Annotated[int, Field(gt=0)],
        pretrained: LayersByView,
        noise: Annotated[float, Field(ge=0, lt=1)],
        reconstructs: Reconstructs,
        correlation_weight: Annotated[float, Field(ge=0, le=1)],
        input_norm: InputNorm,
        score_norm: ScoreNorm,
        learning_rate: Annotated[float, Field(gt=0)],
        weight_decay: Annotated[float, Field(ge=0)],
        batch: Annotated[int, Field(gt=1)],
        pretraining_epochs: Annotated[int, Field(gt=0)],
        epochs: Annotated[int, Field(gt=0)],
    ) -> None:
        self.dims, self.pretrained, self.noise = dims, pretrained, noise
        self.reconstructs, self.correlation_weight = reconstructs, correlation_weight
        self.input_norm, self.score_norm = input_norm, score_norm
        self.rate, self.weight_decay, self.batch = learning_rate, weight_decay, batch
        self.stage_epochs = (pretraining_epochs, epochs) if pretrained else (epochs,)

    def stages(self, widths: dict[str, int]) -> list[Stage]:
        """The pretrained stacks, if any, and the correspondence autoencoder."""
        below: list[Stage] = []
        input_norm = self.input_norm
        if self.pretrained:
            below.append(DenoisingStacks(widths, self.pretrained, self.noise, input_norm))
            widths = {m: self.pretrained[m][-1] for m in widths}
            input_norm = "raw"
        top = CorrespondenceAutoencoder(
            widths, self.dims, self.reconstructs, self.correlation_weight, input_norm
        )
        return [*below, top]
