"""LGCFL: both views are regressed onto relaxed class indicators, row-sparsely (Kang et al. 2015).

    min |XU + 1b' - T|^2 + |ZV + 1b' - T|^2 + penalty (|U|_21 + |V|_21),   T = Y + B o M, M >= 0

with B = 1 for an item's classes and -1 for the others: targets may be dragged apart. Alternates
over b, U, V and M; the problem is convex. Retrieval by the cosine of XU and ZV.

Source: C. Kang et al., Learning consistent feature representation for cross-modal multimedia
retrieval, IEEE TMM 17(3), 2015. Our reconstruction: each feature is a group of its own.
Cost: about four p^2 float64 matrices (0.6 GB at 4,096); one pass over the rows for the moments, and
per iteration two light ones and one linear system of size p; at 40,000 pairs of 4,096 + 1,000
columns, at most 2.5 GB with the features and 2 minutes of one core.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from crossmodal.data import Split
from crossmodal.linear.group_sparse import reweighted_step, row_norms, settled
from crossmodal.linear.inputs import InputNorm, paired_inputs, require_labels
from crossmodal.linear.moments import cross_scatter, scatter
from crossmodal.linear.projection import Projection
from crossmodal.methods.base import Run


class LGCFL(Projection):
    """Regression to classes with dragged targets; the shared space has one dimension per class.

    Args:
        penalty: Of both |.|_21; grows with the number of pairs.
        dragging: Whether targets move; else T = Y.
        iterations: At most.
        tolerance: Stop when the objective falls by less than this share.
        input_norm: Scaling of the features, see `Inputs`.
    """

    def __init__(
        self,
        penalty: Annotated[float, Field(gt=0)],
        dragging: bool,
        iterations: Annotated[int, Field(gt=0)],
        tolerance: Annotated[float, Field(ge=0)],
        input_norm: InputNorm,
    ) -> None:
        self.penalty = penalty
        self.dragging = dragging
        self.iterations = iterations
        self.tolerance = tolerance
        self.input_norm = input_norm

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn both maps; nothing is random. The learning curve has the objective.

        Raises:
            CrossmodalError: If no item has a label.
        """
        require_labels(train)
        views = paired_inputs(train, self.input_norm)
        grams = {m: scatter({m: view})[m, m] for m, view in views.items()}
        owners, _ = train.pairs()
        labels = train.labels[owners].astype(np.float64)
        targets, maps = labels, dict.fromkeys(views)
        for iteration in range(self.iterations):
            bias = targets.mean(axis=0)
            for m, view in views.items():
                product = cross_scatter(view, targets - bias)
                maps[m] = reweighted_step(grams[m], product, self.penalty, maps[m])
            predictions = [view.project(maps[m]) + bias for m, view in views.items()]
            if self.dragging:
                targets = _dragged(labels, sum(predictions) / 2)
            objective = sum(np.square(p - targets).sum() for p in predictions)
            objective += self.penalty * sum(row_norms(matrix).sum() for matrix in maps.values())
            run.curve.append({"iteration": iteration, "objective": objective})
            if settled(run.curve, self.tolerance):
                break
        self.keep(views, maps)


def _dragged(labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Targets (n, C) nearest to the predictions: from 1 up for an item's classes, else to 0."""
    return np.where(labels, np.maximum(predictions, 1), np.minimum(predictions, 0))
