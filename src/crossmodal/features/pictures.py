"""The image files themselves, for methods that train the image network."""

from collections.abc import Sequence

import numpy as np

from crossmodal.data.feature import Feature
from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Item, Items
from crossmodal.io.image_files import read_image


class Pictures(Feature):
    """Sequences uint8 (bytes of the file,), each of which can be decoded."""

    modality = "image"
    shape = "files"
    reads = ("items.csv", "media.zip")

    def extract(
        self, dataset: Items, rows: Sequence[Item], sources: dict[str, FeatureFile]
    ) -> list[np.ndarray]:
        """Read each file, and check that it can be decoded."""
        contents = [dataset.read(item.image) for item in rows]
        for item, content in zip(rows, contents, strict=True):
            read_image(content, dataset.where(item.image))
        return [np.frombuffer(content, np.uint8) for content in contents]
