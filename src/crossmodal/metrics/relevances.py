"""Relevance as people have it: item ids, labels, a matrix of grades, or qrels."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from crossmodal.errors import CrossmodalError, listed
from crossmodal.metrics.retrieval import Pool, shares_label

Qrels = Mapping[str, Mapping[str, float]]
Sides = tuple[ArrayLike, ArrayLike]
Relevance = Sides | ArrayLike | Qrels | None
Ids = tuple[Sequence[str], Sequence[str]]
Grades = Callable[[slice], np.ndarray]  # of the queries in a slice, (rows, n)


def grades_of(relevance: Relevance, ids: Ids | None, queries: int, gallery: int) -> Grades:
    """Return what gives the relevance of some queries; see `crossmodal.evaluate`.

    Raises:
        CrossmodalError: If it is none of these, or of other numbers of queries or documents.
    """
    if relevance is None:
        if queries != gallery:
            raise CrossmodalError(
                f"{queries:,} queries and {gallery:,} documents are no pairs; give `relevance`"
            )
        relevance = (np.arange(queries), np.arange(queries))
    if isinstance(relevance, Mapping):
        relevance = _matrix(relevance, ids, queries, gallery)
    if isinstance(relevance, tuple):
        if len(relevance) != 2:
            raise CrossmodalError(
                f"relevance is a tuple of {len(relevance)}; give ids or labels of queries, and of "
                "documents"
            )
        return _of_sides(relevance, queries, gallery)
    is_sparse = sparse.issparse(relevance)
    matrix: Any = sparse.csr_array(relevance) if is_sparse else _as_array(relevance)
    _check_numbers(matrix.dtype)
    _check_shape(matrix.shape, (queries, gallery))
    return lambda part: matrix[part].toarray() if is_sparse else np.asarray(matrix[part])


def codes(first: ArrayLike, second: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return whole numbers that are equal where the ids of two lists are.

    Raises:
        CrossmodalError: If one is missing, or ids are texts in one list alone.
    """
    a, b = names_of(first, "query"), names_of(second, "document")
    if {a.dtype.kind, b.dtype.kind} == {"i", "u"}:  # together they would be rounded
        a, b = a.astype(str), b.astype(str)
    if (a.dtype.kind in "US") != (b.dtype.kind in "US"):
        raise CrossmodalError(
            f"ids of queries are {a.dtype}, of documents {b.dtype}; give both as texts or as "
            "numbers"
        )
    _, places = np.unique(np.concatenate([a, b]), return_inverse=True)
    return places[: len(a)], places[len(a) :]


def names_of(side: ArrayLike, whose: str) -> np.ndarray:
    """Return ids or labels as texts or numbers; those that are missing would equal each other.

    Args:
        side: The ids or labels, (n,).
        whose: A noun for what has one, for the message.

    Raises:
        CrossmodalError: If one is missing.
    """
    names = np.asarray(side)
    if names.dtype.kind == "O":
        missing = [not isinstance(name, str | int | np.integer) for name in names]
    else:
        missing = names != names
    if np.any(missing):
        place = int(np.argmax(missing))
        raise CrossmodalError(
            f"the id or label of {whose} {place} is {names.tolist()[place]!r}; give a text or a "
            "number, or leave the row out"
        )
    return names.astype(str) if names.dtype.kind == "O" else names


def _as_array(relevance: object) -> np.ndarray:
    try:
        return np.asanyarray(relevance)
    except ValueError as error:
        raise CrossmodalError(
            "`relevance` has a list of lists of several lengths; give a tuple of two lists of ids, "
            "or of two matrices with a column of each label, a matrix of grades, or qrels"
        ) from error


def _of_sides(sides: Sides, queries: int, gallery: int) -> Grades:
    first, second = (
        sparse.csr_array(side).toarray() if sparse.issparse(side) else _as_array(side)
        for side in sides
    )
    _check_shape((*first.shape[:1], *second.shape[:1]), (queries, gallery))
    if first.ndim == second.ndim == 1:
        own, others = codes(first, second)
        return lambda rows: own[rows, None] == others
    if not first.ndim == second.ndim == 2 or first.shape[1] != second.shape[1]:
        raise CrossmodalError(
            f"labels of shape {first.shape} and {second.shape}; give an id or label of each row, "
            "or a column of each label"
        )
    for side in (first, second):
        _check_numbers(side.dtype)
        if not (side >= 0).all():  # nor is NaN
            raise CrossmodalError("a label is negative or NaN; give 0 where a row lacks it, else 1")
    asked, searched = (
        Pool(side, np.arange(len(side)), side.astype(bool)) for side in (first, second)
    )
    return lambda rows: shares_label(asked, searched, rows)


def _matrix(qrels: Qrels, ids: Ids | None, queries: int, gallery: int) -> sparse.csr_array:
    if ids is None:
        raise CrossmodalError("qrels name queries and documents by ids; give `ids` of both")
    places = [{str(id): row for row, id in enumerate(side)} for side in ids]
    if [*map(len, places)] != [queries, gallery]:
        have = " and ".join(f"{len(side):,}" for side in places)
        raise CrossmodalError(
            f"{have} different ids of {queries:,} queries and {gallery:,} documents; give one each"
        )
    try:
        entries = [(str(q), str(d), g) for q, own in qrels.items() for d, g in own.items()]
    except AttributeError as error:
        raise CrossmodalError("qrels are a dict of dicts: query -> document -> grade") from error
    for side, names in (("query", {e[0] for e in entries}), ("document", {e[1] for e in entries})):
        lost = sorted(names - {*places[side == "document"]})
        if lost:
            raise CrossmodalError(
                f"qrels name an unknown {side}: {listed(lost)}; leave it out, or correct `ids`"
            )
    rows, columns = [places[0][q] for q, _, _ in entries], [places[1][d] for _, d, _ in entries]
    try:
        grades = np.array([grade for _, _, grade in entries], np.float32)
    except (TypeError, ValueError) as error:
        raise CrossmodalError(f"qrels: {error}; give grades as numbers") from error
    return sparse.csr_array((grades, (rows, columns)), shape=(queries, gallery))


def _check_numbers(dtype: np.dtype) -> None:
    if dtype.kind not in "biuf":
        raise CrossmodalError(
            f"relevance holds {dtype}; give grades, or columns of labels, as numbers"
        )


def _check_shape(shape: tuple[int, ...], wanted: tuple[int, int]) -> None:
    if shape != wanted:
        raise CrossmodalError(f"relevance is of {shape}, but queries and documents are {wanted}")
