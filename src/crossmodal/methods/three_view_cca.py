"""3view-CCA: CCA of image, text and label views (Gong et al. 2014).

Maximises the sum over pairs of views of tr(Wi' Sij Wj) subject to sum_i Wi'(Sii + r I)Wi = I, the
third view being the centred label matrix. Retrieval by the cosine of the first two views'
projections, each axis weighted by its eigenvalue to the power s.

Source: Y. Gong, Q. Ke, M. Isard, S. Lazebnik, A multi-view embedding space for modeling Internet
images, tags, and their semantics, IJCV 106(2), 2014.
Cost: about seven (p + q + C)^2 float64 matrices (1.5 GB at 4,096 + 1,000 + 81 columns), one pass
over the rows and one eigenproblem of that size.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from crossmodal.data import Split
from crossmodal.linear.inputs import InputNorm, paired_inputs, paired_labels
from crossmodal.linear.moments import scatter
from crossmodal.linear.pencil import block_pencil
from crossmodal.linear.projection import Projection
from crossmodal.methods.base import Run

LABELS = "labels"


class ThreeViewCCA(Projection):
    """Three-view CCA in closed form; an item without label keeps tying its image to its text.

    Args:
        dims: Size k of the shared space.
        ridge: r, added to the variance of every column, so `input_norm` gives its unit.
        power: s, exponent of the eigenvalues in the embedding.
        input_norm: Scaling of the features, see `Inputs`.
    """

    def __init__(
        self,
        dims: Annotated[int, Field(gt=0)],
        ridge: Annotated[float, Field(gt=0)],
        power: Annotated[float, Field(ge=0)],
        input_norm: InputNorm,
    ) -> None:
        self.dims = dims
        self.ridge = ridge
        self.power = power
        self.input_norm = input_norm

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn all maps; nothing is random, so the seed does not matter.

        Raises:
            CrossmodalError: If `dims` exceeds the width of all views together.
        """
        views = paired_inputs(train, self.input_norm)
        three = views | {LABELS: paired_labels(train)}
        count = len(three[LABELS])
        moments = {pair: s / (count - 1) for pair, s in scatter(three).items()}
        for view in three:
            moments[view, view] += self.ridge * np.eye(len(moments[view, view]))
        values, maps = block_pencil(moments, {m: moments[m, m] for m in three}, self.dims)
        weight = values**self.power
        self.keep(views, {m: maps[m] * weight for m in views})
        self.arrays["values"] = values
