"""Methods whose embedding is a matrix times the standardised rows of a view."""

import numpy as np

from crossmodal.data import View
from crossmodal.errors import CrossmodalError
from crossmodal.linear.inputs import InputNorm, Inputs, normalised, row_blocks
from crossmodal.methods.base import Method


class Projection(Method):
    """One matrix per modality; retrieval by the cosine.

    Attributes:
        input_norm: Scaling of the features, see `Inputs`.
    """

    task = "category"
    input_norm: InputNorm = "raw"

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Projections (rows, k) of one view."""
        features = view.vectors()
        mean, matrix = self.arrays[f"mean.{modality}"], self.arrays[f"map.{modality}"]
        blocks = (normalised(features[b], self.input_norm) for b in row_blocks(len(features)))
        return np.concatenate([(block - mean) @ matrix for block in blocks])

    def keep(self, views: dict[str, Inputs], maps: dict[str, np.ndarray]) -> None:
        """Take over the learnt maps.

        Args:
            views: What they were learnt from.
            maps: Matrix (d, k) of each modality for its standardised rows.
        """
        self.arrays = {f"mean.{m}": view.mean for m, view in views.items()}
        self.arrays |= {f"map.{m}": maps[m] / view.scale[:, None] for m, view in views.items()}


def require_rank(label: str, dims: int, rank: int, views: dict[str, Inputs]) -> None:
    """Refuse more dimensions than there are directions to learn.

    Raises:
        CrossmodalError: If `dims` exceeds `rank`.
    """
    if dims > rank:
        raise CrossmodalError(
            f"{label}: dims is {dims}, but {' and '.join(views)} have only {rank} common "
            "directions; lower dims"
        )
