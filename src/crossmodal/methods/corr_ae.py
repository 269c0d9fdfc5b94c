"""Corr-AE: autoencoders of two modalities with corresponding codes (Feng, Wang and Li 2014).

Two autoencoders whose codes are pulled together on pairs, see
`crossmodal.methods._staged.correspondence`, on top of one pretrained stack per modality. Retrieval
by the cosine of the codes.

Source: F. Feng, X. Wang, R. Li, Cross-modal retrieval with correspondence autoencoder, ACM MM 2014.
Denoising autoencoders replace the RBMs that the authors pretrain.
Cost of the published steps at 4,096 + 1,000 columns, whatever the number of pairs: about 9
hours of one core, most of it for pretraining; 3.5 GB at 40,000 pairs.
"""

from pydantic import Field

from crossmodal.methods._staged.autoencoders import DenoisingStacks
from crossmodal.methods._staged.correspondence import (
    CorrespondenceAutoencoder,
    CorrespondenceOptions,
)
from crossmodal.methods._staged.stages import Stage
from crossmodal.methods._staged.standardised import StandardisedMethod, StandardisedOptions
from crossmodal.plugin import Count


class CorrAE(StandardisedMethod):
    """Corr-AE; `pretrained: {}` is no pretraining.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import CorrAE
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> sizes = dict(dims=4, pretrained={"image": [4, 4], "text": [4, 4]})
        >>> steps = dict(pretraining_steps=2, steps=2)
        >>> coder = CorrAE(**sizes, **steps).fit(sepals, petals, species)
        >>> coder.similarity(sepals, petals).shape
        (150, 150)
    """

    supervised = False

    class Options(CorrespondenceOptions, StandardisedOptions):
        """Options of the codes."""

        dims: Count = Field(description="Units of the codes: dimensions of the shared space.")

    options: Options

    @property
    def code_width(self) -> int:
        """Return the size of the codes."""
        return self.options.dims

    @property
    def stage_steps(self) -> tuple[int, ...]:
        """Return the steps of pretraining, if any, and of the correspondence autoencoder."""
        pretraining = (self.options.pretraining_steps,) if self.options.pretrained else ()
        return (*pretraining, self.options.steps)

    def stages(self, widths: dict[str, int]) -> list[Stage]:
        """Return the pretrained stacks, if any, and the correspondence autoencoder."""
        options, below = self.options, []
        scaling = options.scaling
        if options.pretrained:
            below.append(DenoisingStacks(widths, options.pretrained, options.noise, scaling))
            widths = {m: options.pretrained[m][-1] for m in widths}
            scaling = "zscore"
        top = CorrespondenceAutoencoder(widths, options.dims, options.correlation_weight, scaling)
        return [*below, top]
