"""Arrays that callers give: of NumPy, pandas or PyTorch, or lists of numbers."""

import numpy as np
from scipy.sparse import issparse

from crossmodal.errors import CrossmodalError


def array_of(given: object, name: str) -> np.ndarray:
    """Return an array of NumPy's.

    Raises:
        CrossmodalError: If it is sparse, ragged, or a tensor that NumPy cannot read.
    """
    if issparse(given):
        raise CrossmodalError(f"{name}: a sparse matrix; give `.toarray()` of it")
    try:
        return np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:  # the last two of torch
        raise CrossmodalError(f"{name}: {error}; give an array of NumPy's") from error


def check_finite(rows: np.ndarray, name: str) -> None:
    """Check that rows (n, ...) have finite numbers alone."""
    finite = np.isfinite(rows).all(axis=tuple(range(1, rows.ndim)))
    if not finite.all():
        raise CrossmodalError(
            f"{name}: row {np.argmin(finite)} has values that are NaN or infinite; correct them, "
            "or leave the row out"
        )
