"""Base class of features of spoken captions."""

from typing import ClassVar

from crossmodal.data.feature import Feature
from crossmodal.data.prepared import Caption, Items
from crossmodal.errors import CrossmodalError


class SpeechFeature(Feature):
    """A row for each caption that has audio."""

    modality = "speech"
    unit = "caption"
    reads: ClassVar[tuple[str, ...]] = ("captions.csv", "media.zip")

    def rows(self, dataset: Items) -> list[Caption]:
        """Return captions that have audio."""
        rows = [caption for caption in dataset.captions if caption.audio]
        if not rows:
            raise CrossmodalError(f"{dataset.name}: no caption has audio")
        return rows
