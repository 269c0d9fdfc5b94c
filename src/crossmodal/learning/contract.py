"""What a method must return; who wrote the method is told where it did not."""

import inspect
from typing import Any

import numpy as np

from crossmodal.data.split import View
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Direction, Method


def embed(method: Method, modality: str, view: View) -> np.ndarray:
    """Embeddings (rows, ...) of a view.

    Raises:
        CrossmodalError: If the method returns something else, or vectors that are not finite.
    """
    found, rows = method.embed(modality, view), len(view.items)
    expected = f"an array of numbers with {rows} rows and at least two axes"
    if not _is_array(found) or found.ndim < 2 or len(found) != rows:
        raise _mistake(method, "embed", f"{_described(found)} for {modality}; expected: {expected}")
    # behind sequences of different lengths there may be padding that is no number
    if found.ndim == 2 and (wrong := found.size - np.isfinite(found).sum()):
        raise _mistake(
            method, "embed", f"{wrong} of {found.size} numbers for {modality} that are not finite"
        )
    return found


def score(
    method: Method, queries: np.ndarray, gallery: np.ndarray, direction: Direction
) -> np.ndarray:
    """Scores (q, g) of embeddings.

    Raises:
        CrossmodalError: If the method returns something else.
    """
    default = type(method).score is Method.score
    if default and queries.shape[1:] != gallery.shape[1:]:
        shapes = " and ".join(str(pool.shape[1:]) for pool in (queries, gallery))
        raise _mistake(
            method,
            "embed",
            f"rows of {shapes} for {' and '.join(direction)}; the default score "
            "needs equal ones: define `score`, or embed into one space",
        )
    found, shape = method.score(queries, gallery, direction), (len(queries), len(gallery))
    if not _is_array(found) or found.shape != shape:
        raise _mistake(method, "score", f"{_described(found)}; expected: an array {shape}")
    return found


def _is_array(found: Any) -> bool:
    return isinstance(found, np.ndarray) and np.issubdtype(found.dtype, np.number)


def _described(found: Any) -> str:
    """What was returned, in words."""
    kind = f"{type(found).__module__}.{type(found).__name__}"
    return f"{kind} of the shape {tuple(found.shape)}" if hasattr(found, "shape") else kind


def _mistake(method: Method, function: str, returned: str) -> CrossmodalError:
    """An error that names the plug-in's file and the line of a function of it."""
    place = getattr(type(method), function)
    file, line = inspect.getsourcefile(place), inspect.getsourcelines(place)[1]
    return CrossmodalError(f"{file}, line {line}: {function} returned {returned}")
