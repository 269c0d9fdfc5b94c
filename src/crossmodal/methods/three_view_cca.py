"""3view-CCA: CCA of image, text and label views (Gong et al. 2014).

Maximises the sum over pairs of views of tr(Wi' Sij Wj) subject to sum_i Wi'(Sii + r I)Wi = I, the
third view being the centred label matrix. Retrieval by the cosine of the first two views'
projections, each axis weighted by its eigenvalue to the power s.

Source: Y. Gong, Q. Ke, M. Isard, S. Lazebnik, A multi-view embedding space for modeling Internet
images, tags, and their semantics, IJCV 106(2), 2014.
Cost: about seven (p + q + C)^2 float64 matrices (1.5 GB at 4,096 + 1,000 + 81 columns), one pass
over the rows and one eigenproblem of that size.
"""

import numpy as np
from pydantic import Field

from crossmodal.data.split import Split
from crossmodal.learning.method import Run
from crossmodal.methods._linear.inputs import paired_inputs, paired_labels
from crossmodal.methods._linear.moments import scatter
from crossmodal.methods._linear.pencil import block_pencil
from crossmodal.methods._linear.projection import ProjectionOptions, ScaledProjection
from crossmodal.plugin import NotNegative, Positive

LABELS = "labels"


class ThreeViewCCA(ScaledProjection):
    """Three-view CCA in closed form; unlabelled items still relate image and text.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import ThreeViewCCA
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> cca = ThreeViewCCA(dims=2).fit(sepals, petals, species)
        >>> cca.score(sepals, petals, species) > 0.4
        True
    """

    random = False

    class Options(ProjectionOptions):
        """Options of the eigenproblem and of the embedding."""

        ridge: Positive = Field(
            description="Ridge r, added to each column's variance, so in units of `scaling`."
        )
        power: NotNegative = Field(description="Exponent s of the eigenvalues in the embedding.")

    options: Options

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn all maps.

        Raises:
            CrossmodalError: If labels do not tell items apart, or `dims` exceeds the sum of the
                widths of the three views.
        """
        views = paired_inputs(train, self.scaling)
        three = views | {LABELS: paired_labels(train)}
        count = len(three[LABELS])
        moments = {pair: s / (count - 1) for pair, s in scatter(three).items()}
        for view in three:
            moments[view, view] += self.options.ridge * np.eye(len(moments[view, view]))
        values, maps = block_pencil(moments, {m: moments[m, m] for m in three}, self.options.dims)
        weight = values**self.options.power
        self.keep(views, {m: maps[m] * weight for m in views})
        self.arrays["values"] = values
