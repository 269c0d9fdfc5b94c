"""Base class of features computed by one half of a dual encoder."""

from pathlib import Path

from pydantic import Field

from crossmodal.features._frozen import FrozenFeature
from crossmodal.plugin import Strict
from crossmodal.pretrained.dual_encoder import DualEncoder
from crossmodal.pretrained.weights import Bundle

BATCH = 16


class ClipFeature(FrozenFeature):
    """Unit vectors of one half, float32 (n, width)."""

    class Options(Strict):
        weights: Bundle = Field(
            description="The dual encoder: a bundle of open_clip's in `data/raw/weights/`."
        )

    options: Options
    packages = ("open_clip",)

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.weights = self.options.weights

    def setup(self, weights: Path | None) -> None:
        """Load the dual encoder."""
        super().setup(weights)
        assert weights is not None  # the option names a file
        self.encoder = DualEncoder(weights)
        self.encoder.model.to(self.device)
