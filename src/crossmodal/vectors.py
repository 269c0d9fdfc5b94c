"""Unit vectors and cosines of the rows of arrays."""

import numpy as np


def unit_rows(x: np.ndarray) -> np.ndarray:
    """Return rows divided by their Euclidean length; zero rows stay zero.

    Args:
        x: Embeddings, (n, d).
    """
    return x / _lengths(x)[:, None]


def inner_product(queries: np.ndarray, gallery: np.ndarray) -> np.ndarray:
    """Return the cosines (q, n) of two sets of embeddings; 0 where one of them is zero.

    BLAS rounds by position: equal non-zero documents may differ in the last bit, not tie.

    Args:
        queries: Embeddings, (q, d).
        gallery: Embeddings, (n, d); never copied.
    """
    scores = unit_rows(queries) @ gallery.T  # (q, n)
    scores /= _lengths(gallery)
    return scores


def _lengths(x: np.ndarray) -> np.ndarray:
    """Return euclidean length of each row, 1 for a zero row."""
    lengths = np.sqrt(np.einsum("nd,nd->n", x, x))
    return np.where(lengths == 0, np.ones_like(lengths), lengths)
