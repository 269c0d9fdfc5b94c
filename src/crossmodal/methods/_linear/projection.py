"""Methods whose embedding is a matrix times the standardised rows of a view."""

import warnings

import numpy as np
from pydantic import Field

from crossmodal.data.split import View
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Method
from crossmodal.learning.scaling import Scaling, row_blocks
from crossmodal.methods._linear.inputs import Centred, InputOptions, Inputs
from crossmodal.plugin import Count, Strict


class SubspaceOptions(Strict):
    """Options of a method that chooses the size of the shared space."""

    dims: Count = Field(
        description="Dimensions k of the shared space; fewer if the views have fewer in common."
    )


class ProjectionOptions(InputOptions, SubspaceOptions):
    """Options of a method that also chooses the scaling of its inputs."""


class Projection(Method):
    """One matrix per modality; retrieval by the cosine.

    Attributes:
        scaling: Scaling of the features, see `InputOptions`.
    """

    task = "category"
    scaling: Centred = "centre"

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Return projections (rows, k) of one view."""
        features = view.vectors()
        mean, matrix = self.arrays[f"mean.{modality}"], self.arrays[f"map.{modality}"]
        scaling = Scaling(self.scaling, mean, np.ones_like(mean))  # the scale is in the matrix
        blocks = (scaling.transform(features[b]) for b in row_blocks(len(features)))
        return np.concatenate([block @ matrix for block in blocks])

    def keep(self, views: dict[str, Inputs], maps: dict[str, np.ndarray]) -> None:
        """Store the learnt maps.

        Args:
            views: Inputs that they were learnt from.
            maps: Matrix (d, k) of each modality, for standardised rows.
        """
        self.arrays = {f"mean.{m}": view.scaling.mean for m, view in views.items()}
        self.arrays |= {f"map.{m}": maps[m] / v.scaling.scale[:, None] for m, v in views.items()}


class ScaledProjection(Projection):
    """A projection whose scaling is an option."""

    options: InputOptions

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.scaling = self.options.scaling


def usable_dims(label: str, dims: int, rank: int, views: dict[str, Inputs]) -> int:
    """Return the wanted dimensions, or with a warning as many as the views have in common.

    Args:
        label: Name of the run, for the message.
        dims: Number of dimensions wanted.
        rank: Number of directions found.
        views: The views, for their names.

    Raises:
        CrossmodalError: If there are none.
    """
    if not rank:
        constant = [modality for modality, view in views.items() if _is_constant(view)]
        why = f": all rows of {' and of '.join(constant)} are equal" if constant else ""
        raise CrossmodalError(
            f"{label}: {' and '.join(views)} have no common directions{why}; choose other features"
        )
    if dims > rank:
        warnings.warn(
            f"{label}: dims is {dims}, but {' and '.join(views)} have only {rank} common "
            f"directions; {rank} are used",
            stacklevel=3,
        )
    return min(dims, rank)


def _is_constant(view: Inputs) -> bool:
    return all((view[block] == view[:1]).all() for block in row_blocks(len(view)))
