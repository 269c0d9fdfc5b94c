"""Least squares with a row-sparse (l2,1) penalty, by iteratively reweighted ridge regression."""

import numpy as np
import scipy.linalg
from pydantic import Field

from crossmodal.plugin import Count, NotNegative, Positive, Strict

ROW_FLOOR = 1e-8  # added to squared row norms, so that a row of zeros has a finite weight


class GroupSparseOptions(Strict):
    """Options of the penalty and of the iteration."""

    penalty: Positive = Field(
        description="Weight of the row-sparse norms of both maps; grows with the number of pairs."
    )
    iterations: Count = Field(30, description="Maximum number of iterations.")
    tolerance: NotNegative = Field(
        0.0001, description="Relative decrease of the objective at which iterations stop."
    )


def row_norms(matrix: np.ndarray) -> np.ndarray:
    """Return smoothed lengths sqrt(|row|^2 + 1e-8) of the rows, (d,); their sum is |P|_21."""
    return np.sqrt(np.square(matrix).sum(axis=1) + ROW_FLOOR)


def reweighted_step(
    gram: np.ndarray, target: np.ndarray, penalty: float, previous: np.ndarray | None
) -> np.ndarray:
    """Minimise a majoriser of tr P'GP - 2 tr P'T + penalty |P|_21: the objective never increases.

    Args:
        gram: G, (d, d), positive semi-definite.
        target: T, (d, C).
        penalty: Weight of the sum of row lengths, > 0.
        previous: Current P (d, C), where the majoriser touches; None gives all rows weight 1.

    Returns:
        (G + penalty D)^-1 T with D = diag(1 / (2 |row|)) of the previous P, (d, C).
    """
    weights = np.ones(len(gram)) if previous is None else 1 / (2 * row_norms(previous))
    return scipy.linalg.solve(gram + penalty * np.diag(weights), target, assume_a="pos")


def converged(curve: list[dict[str, float]], tolerance: float) -> bool:
    """Return whether the last iteration lowered `objective` by at most a fraction `tolerance`."""
    values = [row["objective"] for row in curve[-2:]]
    return len(values) == 2 and values[0] - values[1] <= tolerance * values[0]
