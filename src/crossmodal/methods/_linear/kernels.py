"""Explicit features of the RBF kernel, exact or approximated (Nystroem)."""

import numpy as np
import scipy.linalg
from sklearn.metrics.pairwise import rbf_kernel

from crossmodal.errors import CrossmodalError
from crossmodal.learning.scaling import row_blocks
from crossmodal.methods._linear.inputs import Inputs


def rbf_gamma(view: Inputs, width: float) -> float:
    """Return `width` divided by the mean squared distance between the rows.

    Raises:
        CrossmodalError: If all rows are equal.
    """
    squares = sum(np.square(view[block]).sum() for block in row_blocks(len(view)))
    if not squares:
        raise CrossmodalError("all rows of a view are equal: nothing can be learnt from them")
    return width * len(view) / (2 * squares)


class KernelFeatures:
    """Nystroem features of a view for exp(-gamma |x - z|^2), computed by `features[rows]`.

    With K the kernel of the landmarks, K = V diag(g) V': the features of x are k(x, landmarks)
    V diag(g)^-1/2. If all rows are landmarks, the inner products of features are the kernel.

    Source: C. Williams, M. Seeger, Using the Nystroem method to speed up kernel machines, NIPS
    2000.

    Args:
        view: Scaled rows, (n, d).
        landmarks: Their indices among the rows, (m,).
        gamma: Inverse squared width of the kernel.

    Attributes:
        landmarks: Their rows, (m, d).
        basis: V diag(g)^-1/2 over the r numerically non-zero eigenvalues g, (m, r).
    """

    def __init__(self, view: Inputs, landmarks: np.ndarray, gamma: float) -> None:
        self.view, self.gamma = view, gamma
        self.landmarks = view[landmarks]
        values, vectors = scipy.linalg.eigh(rbf_kernel(self.landmarks, gamma=gamma))
        nonzero = values > len(values) * np.finfo(np.float64).eps * values[-1]
        self.basis = vectors[:, nonzero] / np.sqrt(values[nonzero])

    def __getitem__(self, rows: np.ndarray, /) -> np.ndarray:
        return rbf_kernel(self.view[rows], self.landmarks, self.gamma) @ self.basis
