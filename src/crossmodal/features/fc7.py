"""The one-layer embedding: the last layer before the classifier.

    f(x) = a_L(x) / |a_L(x)|,

averaged over crops first and normalised afterwards (Vilalta et al. 2019, section 4.3).
"""

from collections.abc import Sequence

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.features.base import Feature
from crossmodal.prepared import Item, Prepared
from crossmodal.store import FeatureFile


class FC7(Feature):
    """Rows of the layer, float32 (n, width of the layer).

    Args:
        activations: Name of a feature of the plug-in `activations`.
        normalise: Whether rows have length one, as in the equation; an image that activates nothing
            stays zero.
    """

    modality = "image"
    reads = ("items.csv",)

    def __init__(self, activations: str, normalise: bool) -> None:
        self.activations, self.normalise = activations, normalise
        self.of = (activations,)

    def extract(
        self, dataset: Prepared, rows: Sequence[Item], sources: dict[str, FeatureFile]
    ) -> np.ndarray:
        """Take the columns of the layer, and normalise the rows."""
        source = sources[self.activations]
        if "one_layer" not in source.meta:
            raise CrossmodalError(
                f"params.yaml: features: {self.activations!r} has no layers of a network; name a "
                "feature of the plug-in 'activations'"
            )
        layer = source.features[:, slice(*source.meta["one_layer"])]
        if not self.normalise:
            return layer
        norms = np.linalg.norm(layer, axis=1, keepdims=True)
        return np.divide(layer, norms, out=np.zeros_like(layer), where=norms > 0)
