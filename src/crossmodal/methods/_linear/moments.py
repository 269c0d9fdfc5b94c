"""Second moments of paired views, summed over blocks of rows."""

import numpy as np

from crossmodal.learning.scaling import row_blocks
from crossmodal.methods._linear.inputs import Inputs

Blocks = dict[tuple[str, str], np.ndarray]


def scatter(views: dict[str, Inputs]) -> Blocks:
    """Return scatter matrices X_a' X_b (d_a, d_b) of all pairs of views (a, b), in float64.

    Memory: two matrices of (sum of d)^2 elements and one block of rows.

    Args:
        views: Standardised views of equally many rows.
    """
    count = len(next(iter(views.values())))
    width = sum(view.width for view in views.values())
    total = np.zeros((width, width))
    for block in row_blocks(count):
        rows = np.hstack([view[block] for view in views.values()])
        total += rows.T @ rows
    ends = np.cumsum([view.width for view in views.values()])
    parts = {m: slice(end - v.width, end) for (m, v), end in zip(views.items(), ends, strict=True)}
    return {(a, b): total[parts[a], parts[b]] for a in views for b in views}


def cross_scatter(view: Inputs, targets: np.ndarray) -> np.ndarray:
    """Return X' T (d, C), for targets (n, C) held in memory."""
    return sum(view[block].T @ targets[block] for block in row_blocks(len(view)))


def weighted_scatter(view: Inputs, weights: np.ndarray) -> np.ndarray:
    """Return X' diag(w) X (d, d), for non-negative weights (n,) of the rows."""
    total = np.zeros((view.width, view.width))
    for block in row_blocks(len(view)):
        rows = view[block] * np.sqrt(weights[block])[:, None]
        total += rows.T @ rows
    return total
