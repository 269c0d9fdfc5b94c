"""Matrices of other programs, and the ids of their rows; nothing is unpickled.

Rows are read when they are taken: of a file that can be mapped, no others come into memory.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from crossmodal.errors import CrossmodalError, unknown
from crossmodal.io.array_formats import (
    hdf5_arrays,
    matlab_arrays,
    npy_arrays,
    npz_arrays,
    safetensors_arrays,
)
from crossmodal.io.files import DAMAGE, readable
from crossmodal.io.parquet_arrays import parquet_arrays
from crossmodal.io.spreadsheets import Row, read_rows
from crossmodal.io.stored_arrays import Stored, Unread

FORMATS: dict[str, Callable[[Path], dict[str, Stored]]] = {
    ".npy": npy_arrays,
    ".npz": npz_arrays,
    ".mat": matlab_arrays,
    ".h5": hdf5_arrays,
    ".hdf5": hdf5_arrays,
    ".parquet": parquet_arrays,
    ".safetensors": safetensors_arrays,
}
TABLES = (".csv", ".tsv")  # with a column of ids
LISTS = (*TABLES, ".txt", ".npy")  # files of ids
WIDEST = 1 << 20  # columns
ID = "id"


def file_and_name(given: Path) -> tuple[Path, str]:
    """Return a file, and the name of an array in it, if that follows after a colon."""
    path, _, name = str(given).rpartition(":")
    is_named = Path(path).suffix.lower() in FORMATS and not given.exists()
    return (Path(path), name) if is_named else (given, "")


def open_matrix(path: Path, name: str = "", ids: str = "") -> Stored:
    """Open a matrix (n, d) of numbers.

    Args:
        path: The file.
        name: Of the matrix in it; empty where there is one.
        ids: Name of an array that has ids, and so is no matrix.

    Raises:
        CrossmodalError: If the file is missing, corrupt or of another kind, or has no such matrix.
    """
    arrays = {key: array for key, array in _arrays(path).items() if not ids or key != ids}
    if name:
        matrix = _member(path, arrays, name)
    else:
        matrices = [a for a in arrays.values() if _is_matrix(a)] or [*arrays.values()]
        if len(matrices) != 1:
            have = ", ".join(f"{key} {array.shape}" for key, array in arrays.items()) or "nothing"
            raise CrossmodalError(
                f"{path}: say which array is meant, by `name` or {path.name}:NAME; it has: {have}"
            )
        matrix = matrices[0]
    if isinstance(matrix, Unread):
        take_rows(path, matrix, np.arange(0))  # tells why
    if not _is_matrix(matrix):
        raise CrossmodalError(
            f"{path}: holds {matrix.dtype} of shape {matrix.shape}; give rows and columns of "
            "float16 to float64, or of integers"
        )
    if not 0 < matrix.shape[1] <= WIDEST:
        raise CrossmodalError(f"{path}: has {matrix.shape[1]:,} columns; 1 to {WIDEST:,} are read")
    return matrix


def take_rows(path: Path, matrix: Stored, rows: np.ndarray) -> np.ndarray:
    """Return rows of a matrix in a file, in the order in which they are asked for.

    Raises:
        CrossmodalError: If the file is corrupt.
    """
    with _naming(path):
        return matrix.take(rows)


def read_row(path: Path, number: int | None = None) -> np.ndarray:
    """Return one row (1, d) of a matrix in a file, or the vector that it has.

    Args:
        path: The file.
        number: Of the row, from 0; None: the only one.

    Raises:
        CrossmodalError: If there is no such row.
    """
    arrays = [*_arrays(path).values()]
    if number is None and len(arrays) == 1 and len(arrays[0].shape) == 1:
        return take_rows(path, arrays[0], np.arange(arrays[0].shape[0]))[None]
    matrix = open_matrix(path)
    count = matrix.shape[0]
    if number is None and count != 1:
        raise CrossmodalError(f"{path}: has {count:,} rows; say which, as {path}:0")
    if not 0 <= (number or 0) < count:
        raise CrossmodalError(f"{path}: has no row {number}; it has {count:,}, from 0")
    return take_rows(path, matrix, np.array([number or 0]))


def read_ids(path: Path, name: str = "") -> list[str]:
    """Return the ids of rows.

    Args:
        path: Without a name, a CSV with a column `id`, a text with an id in each line, or .npy.
        name: Of the array, or column, in a file that has others, too.

    Raises:
        CrossmodalError: If the file is missing, or holds something else.
    """
    if name:
        return _texts(path, _member(path, _arrays(path), name))
    match path.suffix.lower():
        case ".csv" | ".tsv":
            return [row[ID] for row in read_id_rows(path)]
        case ".txt":
            return [line.strip() for line in _text(path).splitlines() if line.strip()]
        case ".npy":
            return _texts(path, *_arrays(path).values())
    raise CrossmodalError(f"{path}: is none of {', '.join(LISTS)}; give the ids of rows as such")


def read_id_rows(path: Path, columns: tuple[str, ...] = (ID,)) -> list[Row]:
    """Return rows of a CSV with a column `id`; see `read_rows`.

    Raises:
        CrossmodalError: If it has no such column, or a row is malformed.
    """
    rows = read_rows(path, columns)
    if rows and ID not in rows[0].values:
        raise CrossmodalError(f"{path}: has no column {ID!r}; name it in the first row")
    return rows


def _text(path: Path) -> str:
    try:
        return readable(path).read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CrossmodalError(f"{path}: is no text in UTF-8; save it as such") from error


def _arrays(path: Path) -> dict[str, Stored]:
    """Return all arrays of a file by name."""
    if path.suffix.lower() not in FORMATS:
        raise CrossmodalError(f"{path}: is none of {', '.join(FORMATS)}; save it as one of these")
    with _naming(path):
        return FORMATS[path.suffix.lower()](readable(path))


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name a file whose reading fails."""
    try:
        yield
    except (*DAMAGE, TypeError, AttributeError) as error:
        raise CrossmodalError(f"{path}: cannot be read: {error}") from error


def _is_matrix(array: Stored) -> bool:
    return len(array.shape) == 2 and array.dtype.kind in "fiu" and array.dtype.itemsize <= 8


def _member(path: Path, arrays: dict[str, Stored], name: str) -> Stored:
    if name not in arrays:
        raise CrossmodalError(f"{path}: {unknown(name, arrays)}")
    return arrays[name]


def _decoded(path: Path, values: np.ndarray) -> np.ndarray:
    try:
        return np.char.decode(values, "utf-8")
    except UnicodeDecodeError as error:
        reason = f"the id {error.object!r} is no text in UTF-8; save ids as such"
        raise CrossmodalError(f"{path}: {reason}") from error


def _texts(path: Path, array: Stored) -> list[str]:
    """Return the entries of an array of texts or whole numbers."""
    values = take_rows(path, array, np.arange(len(array.shape) and array.shape[0]))
    if values.size != max(values.shape, default=0):
        raise CrossmodalError(
            f"{path}: its ids have the shape {values.shape}; give one of each row"
        )
    values = values.ravel()
    if values.dtype.kind == "f" and (values == np.round(values)).all():  # of Matlab
        values = values.astype(np.int64)
    if values.dtype.kind == "S":
        values = _decoded(path, values)
    if values.dtype.kind not in "iuUO":
        raise CrossmodalError(f"{path}: its ids are {values.dtype}; give texts or whole numbers")
    return [str(value).rstrip() for value in values.tolist()]  # Matlab pads texts
