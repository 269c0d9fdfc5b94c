"""Joint directions of several views: generalised eigenvectors of block matrices."""

import numpy as np
import scipy.linalg

from crossmodal.errors import CrossmodalError
from crossmodal.methods._linear.moments import Blocks


def block_pencil(
    relations: Blocks, constraints: dict[str, np.ndarray], dims: int
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Solve A w = lambda B w for the largest eigenvalues, with sum_i W_i' B_i W_i = I.

    Memory: about four matrices of (sum of d)^2 float64 elements.

    Args:
        relations: The blocks A_ab (d_a, d_b) of the symmetric A, by pair of views.
        constraints: The diagonal blocks B_a (d_a, d_a) of B; all other blocks are zero.
        dims: Number k of directions.

    Returns:
        Eigenvalues (k,), descending, and the map W_a (d_a, k) of each view.

    Raises:
        CrossmodalError: If there are fewer directions, or B is not positive definite.
    """
    views = list(constraints)
    left = np.block([[relations[a, b] for b in views] for a in views])
    right = scipy.linalg.block_diag(*constraints.values())
    width = len(left)
    if dims > width:
        raise CrossmodalError(f"dims is {dims}, but there are only {width} directions; lower dims")
    try:
        values, vectors = scipy.linalg.eigh(
            left,
            right,
            subset_by_index=[width - dims, width - 1],
            overwrite_a=True,
            overwrite_b=True,
        )
    except np.linalg.LinAlgError as error:
        raise CrossmodalError(
            f"the constraints of {', '.join(views)} are singular ({error}); raise ridge"
        ) from error
    ends = np.cumsum([len(block) for block in constraints.values()])
    maps = np.split(vectors[:, ::-1], ends[:-1])
    return values[::-1], dict(zip(views, maps, strict=True))
