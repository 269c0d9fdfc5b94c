"""Kernels and their explicit features, exact or approximated (Nystroem)."""

from typing import Literal

import numpy as np
import scipy.linalg
from sklearn.metrics.pairwise import pairwise_kernels

from crossmodal.errors import CrossmodalError
from crossmodal.methods._linear.inputs import Inputs, row_blocks

Kernel = Literal["rbf", "linear", "quadratic"]


def kernel_matrix(x: np.ndarray, z: np.ndarray, kernel: Kernel, gamma: float) -> np.ndarray:
    """Kernel values (n, m) of the rows of x (n, d) and z (m, d).

    Args:
        x: First rows.
        z: Second rows.
        kernel: 'rbf': exp(-gamma |x - z|^2); 'linear': x'z; 'quadratic': (x'z)^2.
        gamma: Inverse squared width of 'rbf'.
    """
    if kernel == "quadratic":
        return pairwise_kernels(x, z, metric="linear") ** 2
    return pairwise_kernels(x, z, metric=kernel, filter_params=True, gamma=gamma)


def rbf_gamma(view: Inputs, width: float) -> float:
    """`width` divided by the mean squared distance between the rows.

    Raises:
        CrossmodalError: If all rows are equal.
    """
    squares = sum(np.square(view[block]).sum() for block in row_blocks(len(view)))
    if not squares:
        raise CrossmodalError("all rows of a view are equal: nothing can be learnt from them")
    return width * len(view) / (2 * squares)


class KernelFeatures:
    """Nystroem features of a view, computed by `features[rows]` and never stored.

    With K the kernel of the landmarks, K = V diag(g) V': the features of x are k(x, landmarks)
    V diag(g)^-1/2. If all rows are landmarks, the inner products of features are the kernel.

    Source: C. Williams, M. Seeger, Using the Nystroem method to speed up kernel machines, NIPS
    2000.

    Args:
        view: Standardised rows, (n, d).
        landmarks: Which of them, (m,).
        kernel: See `kernel_matrix`.
        gamma: See `kernel_matrix`.

    Attributes:
        landmarks: Their rows, (m, d).
        basis: V diag(g)^-1/2 over the r numerically non-zero eigenvalues g, (m, r).
    """

    def __init__(self, view: Inputs, landmarks: np.ndarray, kernel: Kernel, gamma: float) -> None:
        self.view, self.kernel, self.gamma = view, kernel, gamma
        self.landmarks = view[landmarks]
        values, vectors = scipy.linalg.eigh(
            kernel_matrix(self.landmarks, self.landmarks, kernel, gamma)
        )
        kept = values > len(values) * np.finfo(np.float64).eps * values[-1]
        self.basis = vectors[:, kept] / np.sqrt(values[kept])

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        return kernel_matrix(self.view[rows], self.landmarks, self.kernel, self.gamma) @ self.basis
