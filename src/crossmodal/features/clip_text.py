"""Texts as vectors of a frozen dual encoder, CLIP or SigLIP; see `crossmodal.nn.dual_encoder`."""

from collections.abc import Sequence

import numpy as np

from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Caption, Item, Items
from crossmodal.features._clip import BATCH, WIDTH, ClipFeature
from crossmodal.features._texts import TextFeature, encoded
from crossmodal.resources.needs import Resources
from crossmodal.resources.sizes import Extent, RowSize

PRODUCTS, ACTIVATIONS = 3e9, 2e7  # of ViT-B/32's text encoder; bytes


class ClipText(ClipFeature, TextFeature):
    """Unit vectors float32 (n, width); an item is the mean of its captions."""

    class Options(TextFeature.Options, ClipFeature.Options):
        pass

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
        return self.vectors(extent, WIDTH)

    def resources(self, extent: Extent, sources: dict[str, RowSize]) -> Resources:
        """As of ViT-B/32's text encoder."""
        captions = RowSize(extent.total * extent.captions, WIDTH)
        return self.needed(extent, captions, PRODUCTS, ACTIVATIONS)
