"""Texts as vectors of a frozen dual encoder, CLIP or SigLIP; see `pretrained.dual_encoder`."""

from collections.abc import Sequence

import numpy as np

from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Caption, Item, Items
from crossmodal.features._clip import BATCH, ClipFeature
from crossmodal.features._texts import TextFeature, encoded


class ClipText(ClipFeature, TextFeature):
    """Unit vectors float32 (n, width); an item is the mean of its captions."""

    class Options(TextFeature.Options, ClipFeature.Options):
        pass

    options: Options

    def extract(
        self,
        dataset: Items,
        rows: Sequence[Item | Caption],
        sources: dict[str, FeatureFile],
    ) -> np.ndarray:
        """Encode all texts; an item without captions is a row of zeros."""
        return encoded(dataset, rows, self._vectors, unit=True)

    def _vectors(self, texts: list[str]) -> np.ndarray:
        """Return vectors of texts, a few at a time; all are padded to the same length."""
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        empty = np.zeros((0, self.encoder.width), np.float32)
        return np.concatenate([empty, *self.each(self._batch, batches)])

    def _batch(self, texts: list[str]) -> np.ndarray:
        return self.encoder.encode_texts(texts, self.device).cpu().numpy()
