"""LGCFL: both views are regressed onto relaxed class indicators, row-sparsely (Kang et al. 2015).

    min |XU + 1b' - T|^2 + |ZV + 1b' - T|^2 + penalty (|U|_21 + |V|_21),   T = Y + B o M, M >= 0

with B = 1 for an item's classes and -1 for the others: epsilon-dragging moves targets apart. The
problem is convex; b, U, V and M are learnt alternately. Retrieval by the cosine of XU and ZV.

Source: C. Kang et al., Learning consistent feature representation for cross-modal multimedia
retrieval, IEEE TMM 17(3), 2015. Our reconstruction: each feature is a group of its own.
Cost: about four p^2 float64 matrices (0.6 GB at 4,096); one pass over the rows for the moments, and
per iteration two cheap ones and one linear system of size p; at 40,000 pairs of 4,096 + 1,000
columns, at most 2.5 GB with the features and 2 minutes of one core.
"""

import numpy as np

from crossmodal.data.learnable import require_labels
from crossmodal.data.split import Split
from crossmodal.learning.method import Run
from crossmodal.methods._linear.group_sparse import (
    GroupSparseOptions,
    converged,
    reweighted_step,
    row_norms,
)
from crossmodal.methods._linear.inputs import InputOptions, paired_inputs
from crossmodal.methods._linear.moments import cross_scatter, scatter
from crossmodal.methods._linear.projection import ScaledProjection


class LGCFL(ScaledProjection):
    """Regression to classes; the shared space has one dimension per class.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from crossmodal.methods import LGCFL
        >>> flowers, species = load_iris(return_X_y=True)
        >>> sepals, petals = flowers[:, :2], flowers[:, 2:]
        >>> lgcfl = LGCFL().fit(sepals, petals, species)
        >>> lgcfl.score(sepals, petals, species) > 0.4
        True
    """

    random = False

    class Options(GroupSparseOptions, InputOptions):
        """Options of the objective."""

    options: Options

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both maps; the learning curve records the objective.

        Raises:
            CrossmodalError: If labels do not tell items apart.
        """
        options = self.options
        require_labels(train)
        views = paired_inputs(train, self.scaling)
        grams = {m: scatter({m: view})[m, m] for m, view in views.items()}
        owners, _ = train.pairs()
        labels = train.labels[owners].astype(np.float64)
        targets = labels
        maps: dict[str, np.ndarray] = {}
        for iteration in range(options.iterations):
            bias = targets.mean(axis=0)
            for m, view in views.items():
                product = cross_scatter(view, targets - bias)
                maps[m] = reweighted_step(grams[m], product, options.penalty, maps.get(m))
            predictions = [view.project(maps[m]) + bias for m, view in views.items()]
            targets = _dragged(labels, sum(predictions) / 2)
            objective = sum(np.square(p - targets).sum() for p in predictions)
            objective += options.penalty * sum(row_norms(matrix).sum() for matrix in maps.values())
            run.curve.append({"iteration": iteration, "objective": objective})
            if converged(run.curve, options.tolerance):
                break
        self.keep(views, maps)


def _dragged(labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Move targets (n, C) to the predictions: from 1 up for an item's classes, else down from 0."""
    return np.where(labels, np.maximum(predictions, 1), np.minimum(predictions, 0))
