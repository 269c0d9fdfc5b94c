"""Features that a dataset's authors published, as they are."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.features.base import Feature
from crossmodal.prepared import Item, Prepared
from crossmodal.store import FeatureFile


class Published(Feature):
    """Rows of a published matrix, one per item.

    Args:
        matrix: Its name in the prepared dataset.
        modality: What it describes.
    """

    reads = ("items.csv", "media.zip")

    def __init__(self, matrix: str, modality: Literal["image", "text"]) -> None:
        self.matrix, self.modality = matrix, modality

    def fit(self, dataset: Prepared, sources: dict[str, FeatureFile], weights: str) -> None:
        """Read the matrix.

        Raises:
            CrossmodalError: If it does not have one row of finite numbers per item.
        """
        values = dataset.published(self.matrix)
        where = f"{dataset.folder}: published feature {self.matrix!r}"
        if values.ndim != 2 or len(values) != len(dataset.items):
            raise CrossmodalError(
                f"{where} has shape {values.shape}; need one row for each of the "
                f"{len(dataset.items)} items"
            )
        damaged = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(damaged):
            item = dataset.items[damaged[0]].id
            raise CrossmodalError(f"{where} is not finite at item {item!r}; get the file again")
        self.rows_of = {item.id: row for item, row in zip(dataset.items, values, strict=True)}

    def extract(
        self, dataset: Prepared, rows: Sequence[Item], sources: dict[str, FeatureFile]
    ) -> np.ndarray:
        """Rows of the matrix that belong to the items, float32: counts come as small integers."""
        return np.stack([self.rows_of[item.id] for item in rows]).astype(np.float32)
