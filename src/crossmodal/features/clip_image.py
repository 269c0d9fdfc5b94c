"""Images as vectors of a frozen dual encoder, CLIP or SigLIP; see `pretrained.dual_encoder`."""

from collections.abc import Sequence

import numpy as np

from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Item, Items
from crossmodal.features._clip import BATCH, ClipFeature
from crossmodal.io.image_files import read_image


class ClipImage(ClipFeature):
    """Unit vectors float32 (n, width), resized, cropped and normalised as the model's file says."""

    modality = "image"
    reads = ("items.csv", "media.zip")

    def extract(
        self, dataset: Items, rows: Sequence[Item], sources: dict[str, FeatureFile]
    ) -> np.ndarray:
        """Decode and encode a few images at a time."""
        starts = range(0, len(rows), BATCH)
        batches = ([row.image for row in rows[start : start + BATCH]] for start in starts)
        contents = ([(dataset.read(m), dataset.where(m)) for m in batch] for batch in batches)
        return np.concatenate(self.each(self._vectors, contents))

    def _vectors(self, files: list[tuple[bytes, str]]) -> np.ndarray:
        """Return vectors of encoded images, each with its name."""
        pixels = self.encoder.pixels([read_image(*file) for file in files])
        return self.encoder.encode_images(pixels.to(self.device)).cpu().numpy()
