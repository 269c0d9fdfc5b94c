"""Texts as vectors of a frozen dual encoder, CLIP or SigLIP; see `crossmodal.nn.dual_encoder`."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Caption, Item, Items
from crossmodal.features._clip import BATCH, WIDTH, ClipFeature
from crossmodal.features._texts import encoded
from crossmodal.resources.needs import Resources
from crossmodal.resources.sizes import Extent, RowSize

PRODUCTS, ACTIVATIONS = 3e9, 2e7  # of ViT-B/32's text encoder; bytes


class ClipText(ClipFeature):
    """Unit vectors float32 (n, width); an item is the mean of its captions."""

    class Options(ClipFeature.Options):
        unit: Literal["item", "caption"] = Field(
            description="What a row is: an item with all its captions, or one caption."
        )

    modality = "text"
    reads = ("items.csv", "captions.csv")

    @property
    def unit(self) -> Literal["item", "caption"]:
        """What a row is."""
        return self.options.unit

    def extract(
        self,
        dataset: Items,
        rows: Sequence[Item] | Sequence[Caption],
        sources: dict[str, FeatureFile],
    ) -> np.ndarray:
        """Encode all texts; an item without captions is a row of zeros."""
        return encoded(dataset, rows, self._vectors, unit=True)

    def _vectors(self, texts: list[str]) -> np.ndarray:
        """Vectors of texts, a few at a time; all are padded to the same length."""
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        empty = np.zeros((0, self.encoder.width), np.float32)
        return np.concatenate([empty, *self.each(self._batch, batches)])

    def _batch(self, texts: list[str]) -> np.ndarray:
        return self.encoder.encode_texts(texts, self.device).cpu().numpy()

    def row_size(self, extent: Extent, sources: dict[str, RowSize]) -> RowSize:
        """As wide as ViT-B/32's."""
        captions = extent.captions if self.unit == "caption" else 1
        return RowSize(extent.total * captions, WIDTH)

    def resources(self, extent: Extent, sources: dict[str, RowSize]) -> Resources:
        """As of ViT-B/32's text encoder."""
        captions = RowSize(extent.total * extent.captions, WIDTH)
        return self.needed(extent, captions, PRODUCTS, ACTIVATIONS)
