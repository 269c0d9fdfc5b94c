"""FNE, the full-network embedding (Garcia-Gasulla et al. 2018).

Each unit j of each layer is put in the context of the training images, and as published reduced to
three values:

    z_j = (a_j - mu_j) / sigma_j,    e_j = 1 if z_j > positive, -1 if z_j < negative, else 0.

The published thresholds were chosen for the 12,416 units of VGG16. Without them the embedding is
standardised only, e_j = z_j within [-clip, clip].
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from pydantic import Field, model_validator
from sklearn.preprocessing import StandardScaler

from crossmodal.data.feature import Feature
from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Item, Items, Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import JsonObject
from crossmodal.plugin import NotNegative, Positive, Strict


class Thresholds(Strict):
    """Bounds of ordinary units, in standard deviations."""

    positive: NotNegative = Field(description="A unit above is coded 1; 0.15 in the paper.")
    negative: float = Field(le=0, description="A unit below is coded -1; -0.25 in the paper.")


class FNE(Feature):
    """Codes -1, 0 and 1, int8, or z-scores, float32 (n, units of all layers)."""

    class Options(Strict):
        activations: str = Field(description="Name of a feature of the plug-in `activations`.")
        thresholds: Thresholds | None = Field(
            None, description="Between which units are coded 0; null: z-scores are kept."
        )
        clip: Positive | None = Field(
            None, description="Largest absolute z-score without thresholds; null with them."
        )

        @model_validator(mode="after")
        def _check_clip(self) -> Self:
            if (self.thresholds is None) == (self.clip is None):
                raise ValueError("clip: is the largest z-score without thresholds, null with them")
            return self

    options: Options
    modality = "image"
    invertible = False
    reads = ("items.csv", "splits.csv")

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.of = (self.options.activations,)

    def fit(self, dataset: Prepared, sources: dict[str, FeatureFile]) -> None:
        """Learn mean and standard deviation of every unit over the training images."""
        (source,) = sources.values()
        train = np.array([dataset.splits[item] == "train" for item in source.items])
        if not train.any():
            raise CrossmodalError(f"{dataset.folder}: FNE needs training items; there are none")
        scaler = StandardScaler()
        for start in range(0, len(train), self.chunk):
            span = slice(start, start + self.chunk)
            if train[span].any():
                scaler.partial_fit(source.vectors()[span][train[span]])
        self.mean, self.deviation = scaler.mean_, np.sqrt(scaler.var_)
        # scikit-learn scales by 1 where a variance is rounding error alone
        self.deviation[self.deviation != scaler.scale_] = 0
        self.layers = source.meta.get("layers", [])

    def extract(
        self, dataset: Items, rows: Sequence[Item], sources: dict[str, FeatureFile]
    ) -> np.ndarray:
        """Standardise, and compare with both thresholds; a unit that never varies stays zero."""
        (source,) = sources.values()
        centred = source.vectors() - self.mean
        z = np.divide(centred, self.deviation, out=np.zeros_like(centred), where=self.deviation > 0)
        if thresholds := self.options.thresholds:
            return (z > thresholds.positive).astype(np.int8) - (z < thresholds.negative)
        clip = self.options.clip or np.inf
        return z.clip(-clip, clip).astype(np.float32)

    def learnt(self) -> JsonObject:
        """Return names and columns of the layers; mean and standard deviation of each column."""
        return {
            "layers": self.layers,
            "mean": self.mean.tolist(),
            "deviation": self.deviation.tolist(),
        }

    def restore(self, learnt: JsonObject) -> None:
        """Take over the statistics."""
        self.layers = learnt["layers"]
        self.mean, self.deviation = np.array(learnt["mean"]), np.array(learnt["deviation"])
