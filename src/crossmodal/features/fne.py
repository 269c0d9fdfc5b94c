"""FNE, the full-network embedding (Garcia-Gasulla et al. 2018).

Each unit j of each layer is put in the context of the training images and reduced to three values:

    z_j = (a_j - mu_j) / sigma_j,    e_j = 1 if z_j > positive, -1 if z_j < negative, else 0.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from crossmodal.errors import CrossmodalError
from crossmodal.features.base import Feature
from crossmodal.prepared import Item, Prepared
from crossmodal.store import FeatureFile


class Moments:
    """Mean and standard deviation of the columns of all rows seen, in float64.

    Source: Chan, Golub and LeVeque, Updating formulae (1979), eq. 2.1.
    """

    def __init__(self) -> None:
        self.count, self.mean, self.squares = 0, np.float64(0), np.float64(0)

    def add(self, rows: np.ndarray) -> None:
        """Take account of more rows (n, d)."""
        rows = rows.astype(np.float64)
        mean = rows.mean(axis=0)
        total = self.count + len(rows)
        delta = mean - self.mean
        self.squares += ((rows - mean) ** 2).sum(axis=0)
        self.squares += delta**2 * self.count * len(rows) / total
        self.mean += delta * len(rows) / total
        self.count = total

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviation of the population, (d,)."""
        return np.sqrt(self.squares / self.count)


class FNE(Feature):
    """Codes -1, 0 and 1, int8 (n, units of all layers).

    Args:
        activations: Name of a feature of the plug-in `activations`.
        positive: A unit is unusually present above this z-score; at least 0, in the paper 0.15.
        negative: It is unusually absent below this one; at most 0, in the paper -0.25.
    """

    modality = "image"
    reads = ("items.csv", "splits.csv")

    def __init__(
        self,
        activations: str,
        positive: Annotated[float, Field(ge=0)],
        negative: Annotated[float, Field(le=0)],
    ) -> None:
        self.activations, self.positive, self.negative = activations, positive, negative
        self.of = (activations,)

    def fit(self, dataset: Prepared, sources: dict[str, FeatureFile], weights: str) -> None:
        """Mean and standard deviation of every unit over the training images."""
        source = sources[self.activations]
        train = np.array([dataset.splits[item] == "train" for item in source.items])
        if not train.any():
            raise CrossmodalError(f"{dataset.folder}: FNE needs training items; there are none")
        moments = Moments()
        for start in range(0, len(train), self.chunk):
            span = slice(start, start + self.chunk)
            if train[span].any():
                moments.add(source.features[span][train[span]])
        self.mean, self.deviation = moments.mean, moments.deviation
        self.layers = source.meta.get("layers", [])

    def extract(
        self, dataset: Prepared, rows: Sequence[Item], sources: dict[str, FeatureFile]
    ) -> np.ndarray:
        """Compare z-scores with both thresholds; a unit that never varies is ordinary."""
        centred = sources[self.activations].features - self.mean
        z = np.divide(centred, self.deviation, out=np.zeros_like(centred), where=self.deviation > 0)
        return (z > self.positive).astype(np.int8) - (z < self.negative)

    def learnt(self) -> dict[str, Any]:
        """Names and columns of the layers; mean and standard deviation of each column."""
        return {
            "layers": self.layers,
            "mean": self.mean.tolist(),
            "deviation": self.deviation.tolist(),
        }
