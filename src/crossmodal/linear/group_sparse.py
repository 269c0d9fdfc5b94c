"""Least squares with an l2,1 penalty, whose rows vanish together, by iterative reweighting."""

import numpy as np
import scipy.linalg

ROW_FLOOR = 1e-8  # added to squared row norms, so that a row of zeros has a finite weight


def row_norms(matrix: np.ndarray) -> np.ndarray:
    """Smoothed lengths sqrt(|row|^2 + 1e-8) of the rows, (d,); their sum is |P|_21."""
    return np.sqrt(np.square(matrix).sum(axis=1) + ROW_FLOOR)


def reweighted_step(
    gram: np.ndarray, target: np.ndarray, penalty: float, previous: np.ndarray | None
) -> np.ndarray:
    """Minimise tr P'GP - 2 tr P'T + penalty |P|_21, majorised at a previous P: never worse.

    Args:
        gram: G, (d, d), positive semi-definite.
        target: T, (d, C).
        penalty: Of the sum of row lengths, > 0.
        previous: The P (d, C) before; None weighs all rows by 1, a ridge start.

    Returns:
        (G + penalty D)^-1 T with D = diag(1 / (2 |row|)) of the previous P, (d, C).
    """
    weights = np.ones(len(gram)) if previous is None else 1 / (2 * row_norms(previous))
    return scipy.linalg.solve(gram + penalty * np.diag(weights), target, assume_a="pos")


def settled(curve: list[dict[str, float]], tolerance: float) -> bool:
    """Whether the last iteration lowered the `objective` by no more than a share `tolerance`."""
    values = [row["objective"] for row in curve[-2:]]
    return len(values) == 2 and values[0] - values[1] <= tolerance * values[0]
