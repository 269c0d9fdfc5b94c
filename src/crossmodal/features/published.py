"""Features that a dataset's authors published, unchanged."""

from collections.abc import Sequence
from typing import Literal, NoReturn

import numpy as np
from pydantic import Field

from crossmodal.data.feature import Feature
from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Item, Items, Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import JsonObject
from crossmodal.plugin import Strict


class Published(Feature):
    """Rows of a published matrix, one per item."""

    class Options(Strict):
        matrix: str = Field(description="Name of the matrix in the prepared dataset.")
        modality: Literal["image", "text"] = Field(description="What the matrix describes.")

    options: Options
    reads = ("items.csv", "media.zip")
    modality: Literal["image", "text"] = "image"  # of an instance: as its options say
    published = True

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.modality = self.options.modality

    def fit(self, dataset: Prepared, sources: dict[str, FeatureFile]) -> None:
        """Read the matrix.

        Raises:
            CrossmodalError: If it does not have one finite row per item.
        """
        values = dataset.published(self.options.matrix)
        where = f"{dataset.folder}: published feature {self.options.matrix!r}"
        if values.ndim != 2 or len(values) != len(dataset.items):
            raise CrossmodalError(
                f"{where} has shape {values.shape}; need one row for each of the "
                f"{len(dataset.items)} items"
            )
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(bad):
            item = dataset.items[bad[0]].id
            raise CrossmodalError(f"{where} is not finite at item {item!r}; get the file again")
        self.rows_of = {item.id: row for item, row in zip(dataset.items, values, strict=True)}

    def extract(
        self, dataset: Items, rows: Sequence[Item], sources: dict[str, FeatureFile]
    ) -> np.ndarray:
        """Return rows of the matrix as float32; counts are published as small integers."""
        return np.stack([self.rows_of[item.id] for item in rows]).astype(np.float32)

    def restore(self, learnt: JsonObject) -> NoReturn:
        """Refuse other items: published features exist for those of their dataset alone.

        Raises:
            CrossmodalError: Always.
        """
        raise CrossmodalError(
            f"published feature {self.options.matrix!r}: cannot be computed for new items, since "
            "it is a matrix that the dataset's authors published for their items; give rows like "
            "these to Model.embed_features"
        )
