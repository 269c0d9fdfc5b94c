"""Arrays that callers give: what they must be, as views and splits of methods."""

from typing import cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from crossmodal.data.split import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.metrics.relevances import names_of

HELD_OUT = 10  # one row of so many chooses the epoch where no validation rows are given
MODALITIES = ("image", "text")


def validation_arrays(
    given: tuple[ArrayLike, ...], labelled: bool
) -> tuple[ArrayLike, ArrayLike, ArrayLike | None]:
    """Return images, texts, and labels, which may be None unless they are needed."""
    if not isinstance(given, tuple | list) or len(given) not in (2, 3):
        raise CrossmodalError("validation: give (images, texts) or (images, texts, labels)")
    images, texts, labels = (*given, None)[:3]
    if labelled and labels is None:
        raise CrossmodalError("validation: has no labels; give (images, texts, labels)")
    return cast(ArrayLike, images), cast(ArrayLike, texts), labels


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


def vector_view(rows: ArrayLike, modality: str, widths: dict[str, int] | None = None) -> View:
    """Return vectors as a view, which must have the widths of those that were fitted."""
    name = f"{modality}s"
    vectors = array_of(rows, name)
    if vectors.dtype.kind not in "biuf" or vectors.ndim != 2 or not vectors.size:
        raise CrossmodalError(
            f"{name}: an array of shape {vectors.shape} and type {vectors.dtype}; a row each "
            "is needed: numbers (n, d)"
        )
    if widths and vectors.shape[1] != widths[modality]:
        raise CrossmodalError(
            f"{name}: {vectors.shape[1]} columns, but `fit` had {widths[modality]}; give as many"
        )
    check_finite(vectors, name)
    # as PyTorch takes them: of no wider type, other byte order or negative stride
    dtype = f"f{min(vectors.itemsize, 8)}" if vectors.dtype.kind == "f" else np.float32
    vectors = np.ascontiguousarray(vectors, dtype)
    return View(vectors, np.arange(len(vectors)), [str(row) for row in range(len(vectors))], {})


def _labels(given: ArrayLike) -> np.ndarray:
    """Return the label of each row, (n,), or which of the labels it has, (n, C) bool."""
    values = array_of(given, "labels")
    if values.ndim == 1:
        return names_of(values, "row")
    if values.ndim != 2 or not np.isin(values, (0, 1)).all():
        raise CrossmodalError(
            f"labels: an array of shape {values.shape} and type {values.dtype}; give one of each "
            "row, (n,), or a column of 0 and 1 of each label, (n, C)"
        )
    return values.astype(bool)


def label_columns(
    *sides: ArrayLike | None,
) -> tuple[list[np.ndarray | None], tuple[str, ...]]:
    """Return which labels the rows of each side have, (n, C) bool, and their names."""
    given = {place: _labels(side) for place, side in enumerate(sides) if side is not None}
    if not given:
        return [None] * len(sides), ()
    if len({labels.shape[1:] for labels in given.values()}) > 1:
        raise CrossmodalError("validation: its labels differ in shape; give the same columns")
    joined = np.concatenate([*given.values()])
    names = np.arange(joined.shape[1]) if joined.ndim == 2 else np.unique(joined)
    columns = joined if joined.ndim == 2 else joined[:, None] == names
    parts = np.split(columns, np.cumsum([len(labels) for labels in given.values()])[:-1])
    matrices = dict(zip(given, parts, strict=True))
    return [matrices.get(place) for place in range(len(sides))], tuple(map(str, names))


def vector_split(
    images: ArrayLike,
    texts: ArrayLike,
    labels: np.ndarray | None,
    names: tuple[str, ...],
    widths: dict[str, int] | None = None,
) -> Split:
    """Return a split of vectors of images and texts, row by row.

    Args:
        images: Vectors (n, p).
        texts: Vectors (n, q).
        labels: Which labels each row has, (n, C) bool; None: none.
        names: Of the labels.
        widths: Columns of each modality that `fit` had; None: any.

    Raises:
        CrossmodalError: If rows are no such vectors, or not as many.
    """
    views = {m: vector_view(x, m, widths) for m, x in zip(MODALITIES, (images, texts), strict=True)}
    count = len(views["image"].items)
    matrix = np.zeros((count, 0), bool) if labels is None else labels
    if counts := {count, len(views["text"].items), len(matrix)} - {count}:
        raise CrossmodalError(f"{count} images, but {counts.pop()} texts or labels; need as many")
    return Split(views["image"].ids, matrix, views, names, "the arrays")


def held_out(split: Split) -> tuple[Split, Split]:
    """Return the rows that are learnt from, and every tenth, which chooses the epoch."""
    if len(split.items) < HELD_OUT:
        raise CrossmodalError(
            f"{len(split.items)} rows; give {HELD_OUT} or more, of which every tenth chooses the "
            "epoch, or `validation`"
        )
    held = np.arange(len(split.items)) % HELD_OUT == HELD_OUT - 1
    both = []
    for rows in (~held, held):
        features = {m: np.asarray(view.features)[rows] for m, view in split.views.items()}
        labels = split.labels[rows] if split.label_names else None
        both.append(vector_split(features["image"], features["text"], labels, split.label_names))
    return both[0], both[1]
