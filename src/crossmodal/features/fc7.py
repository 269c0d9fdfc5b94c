"""The one-layer embedding: the last layer before the classifier.

    f(x) = a_L(x) / |a_L(x)|,

averaged over crops first and normalised afterwards (Vilalta et al. 2019, section 4.3).
"""

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from crossmodal.data.feature import Feature
from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Item, Items
from crossmodal.errors import CrossmodalError
from crossmodal.plugin import Strict


class FC7(Feature):
    """Rows of the layer, float32 (n, width of the layer)."""

    class Options(Strict):
        activations: str = Field(description="Name of a feature of the plug-in `activations`.")
        normalise: bool = Field(
            description="Whether rows have length one, as in the equation; a row of zeros stays."
        )

    options: Options
    modality = "image"
    invertible = False
    reads = ("items.csv",)

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.of = (self.options.activations,)

    def extract(
        self, dataset: Items, rows: Sequence[Item], sources: dict[str, FeatureFile]
    ) -> np.ndarray:
        """Take the columns of the layer, and normalise the rows."""
        (source,) = sources.values()
        if "one_layer" not in source.meta:
            raise CrossmodalError(
                f"params.yaml: features: {self.options.activations!r} has no layers of a network; "
                "name a feature of the plug-in 'activations'"
            )
        layer = source.vectors()[:, slice(*source.meta["one_layer"])]
        if not self.options.normalise:
            return layer
        norms = np.linalg.norm(layer, axis=1, keepdims=True)
        return np.divide(layer, norms, out=np.zeros_like(layer), where=norms > 0)
