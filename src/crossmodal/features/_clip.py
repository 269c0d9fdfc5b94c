"""What both halves of a dual encoder share as features."""

from pathlib import Path

from pydantic import Field

from crossmodal.features._frozen import FrozenFeature
from crossmodal.images.weights import Bundle
from crossmodal.nn.dual_encoder import DualEncoder
from crossmodal.options import Strict
from crossmodal.resources.needs import GB, Resources
from crossmodal.resources.sizes import Extent, RowSize

WIDTH, PARAMETERS = 512, 1.5e8  # of CLIP's ViT-B/32, before the model is there
BATCH = 16


class ClipFeature(FrozenFeature):
    """Unit vectors of one half, float32 (n, width)."""

    class Options(Strict):
        weights: Bundle = Field(
            description="The dual encoder: a bundle of open_clip's in `data/raw/weights/`."
        )

    packages = ("open_clip",)

    def setup(self, weights: Path | None) -> None:
        """Load the dual encoder."""
        super().setup(weights)
        self.encoder = DualEncoder(weights)
        self.encoder.model.to(self.device)

    def needed(self, extent: Extent, rows: RowSize, products: float, inputs: float) -> Resources:
        """The weights twice while they are loaded, a batch for each thread, and two operations for
        each product.

        Args:
            extent: Size of the dataset.
            rows: Size of the feature.
            products: Multiply-adds of a row.
            inputs: Bytes of a row's activations.
        """
        needed, batch = super().resources(extent, {}), BATCH * inputs
        return needed.but(
            memory=needed.memory + 8 * PARAMETERS + self.threads * batch + GB / 2,
            operations=2 * products * rows.count,
            gpu=1,
            gpu_memory=4 * PARAMETERS + batch + GB,
        )
