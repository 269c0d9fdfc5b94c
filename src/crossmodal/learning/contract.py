"""Validation of what a method returns; errors name the line of the plug-in."""

import inspect

import numpy as np

from crossmodal.data.split import View
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Direction, Method


def embed(method: Method, modality: str, view: View) -> np.ndarray:
    """Embed the rows (rows, ...) of a view, and check what the method returns.

    Raises:
        CrossmodalError: If the method returns something else, or vectors that are not finite.
    """
    embeddings, rows = method.embed(modality, view), len(view.items)
    expected = f"an array of numbers with {rows} rows and at least two axes"
    if not _is_array(embeddings) or embeddings.ndim < 2 or len(embeddings) != rows:
        raise _mistake(
            method, "embed", f"{_described(embeddings)} for {modality}; expected: {expected}"
        )
    # behind sequences of different lengths there may be padding that is no number
    if embeddings.ndim == 2 and (wrong := embeddings.size - np.isfinite(embeddings).sum()):
        raise _mistake(
            method,
            "embed",
            f"{wrong} of {embeddings.size} numbers for {modality} that are not finite",
        )
    return embeddings


def score(
    method: Method, queries: np.ndarray, gallery: np.ndarray, direction: Direction
) -> np.ndarray:
    """Score (q, g) embeddings, and check what the method returns.

    Raises:
        CrossmodalError: If the method returns something else.
    """
    if method.cosine and queries.shape[1:] != gallery.shape[1:]:
        shapes = " and ".join(str(pool.shape[1:]) for pool in (queries, gallery))
        raise _mistake(
            method,
            "embed",
            f"rows of {shapes} for {' and '.join(direction)}; the default score "
            "needs equal ones: define `score`, or embed into one space",
        )
    scores, shape = method.score(queries, gallery, direction), (len(queries), len(gallery))
    if not _is_array(scores) or scores.shape != shape:
        raise _mistake(method, "score", f"{_described(scores)}; expected: an array {shape}")
    return scores


def _is_array(result: object) -> bool:
    return isinstance(result, np.ndarray) and np.issubdtype(result.dtype, np.number)


def _described(result: object) -> str:
    """Describe what was returned."""
    kind = f"{type(result).__module__}.{type(result).__name__}"
    return f"{kind} of the shape {tuple(result.shape)}" if hasattr(result, "shape") else kind


def _mistake(method: Method, function: str, returned: str) -> CrossmodalError:
    """Return an error that names the plug-in's file and the line of a function of it."""
    place = getattr(type(method), function)
    file, line = inspect.getsourcefile(place), inspect.getsourcelines(place)[1]
    return CrossmodalError(f"{file}, line {line}: {function} returned {returned}")
