"""The image files themselves, for methods that train the image network."""

from collections.abc import Sequence

import numpy as np

from crossmodal import vision
from crossmodal.features.base import Feature
from crossmodal.prepared import Item, Prepared
from crossmodal.store import FeatureFile


class Pictures(Feature):
    """Sequences uint8 (bytes of the file,); all of them can be decoded."""

    modality = "image"
    media = True
    reads = ("items.csv", "media.zip")

    def extract(
        self, dataset: Prepared, rows: Sequence[Item], sources: dict[str, FeatureFile]
    ) -> list[np.ndarray]:
        """Read and try each file."""
        contents = [dataset.read(item.image) for item in rows]
        for item, content in zip(rows, contents, strict=True):
            vision.read_image(content, item.image)
        return [np.frombuffer(content, np.uint8) for content in contents]
