"""Matrices in Parquet files: a column of lists, or all columns of fractional numbers together."""

from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from crossmodal.errors import FORMATS, CrossmodalError
from crossmodal.io.stored_arrays import Loaded, Stored, Unpacked, refuse_inflation

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetFile

BATCH = 4096  # rows that are read at a time
TOGETHER = "columns"  # name of the matrix that columns of numbers make


def parquet_arrays(path: Path) -> dict[str, Stored]:
    """Return the columns of a Parquet file; those of lists of one length are matrices.

    Raises:
        CrossmodalError: If pyarrow is not installed.
        ValueError: If the file is corrupt, or its lists are empty.
    """
    try:
        from pyarrow import parquet, types
    except ImportError as error:
        raise CrossmodalError(f"{path}: needs pyarrow; {FORMATS}") from error
    file = parquet.ParquetFile(path, memory_map=True)
    arrays: dict[str, Stored] = {}
    numbers: dict[str, np.dtype] = {}
    for field in file.schema_arrow:
        kind, lists = field.type, (types.is_list, types.is_large_list, types.is_fixed_size_list)
        if types.is_floating(kind):
            numbers[field.name] = np.dtype(kind.to_pandas_dtype())
        if any(is_list(kind) for is_list in lists):
            dtype = np.dtype(kind.value_type.to_pandas_dtype())
            arrays[field.name] = _matrix(file, [field.name], dtype, _width(file, field.name))
        else:
            load = partial(_column, file, field.name)
            arrays[field.name] = Loaded(np.dtype(object), (file.metadata.num_rows,), load)
    if numbers and not any(len(array.shape) == 2 for array in arrays.values()):
        dtype = np.result_type(*numbers.values())
        arrays[TOGETHER] = _matrix(file, [*numbers], dtype, len(numbers))
    return arrays


def _matrix(file: "ParquetFile", names: list[str], dtype: np.dtype, width: int) -> Stored:
    """Return the matrix that some columns make."""
    shape = (file.metadata.num_rows, width)
    if dtype.kind in "fiu":
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        columns = (group.column(c) for group in groups for c in range(group.num_columns))
        stored = (
            c.total_compressed_size for c in columns if c.path_in_schema.split(".")[0] in names
        )
        refuse_inflation(shape[0] * width * dtype.itemsize, sum(stored))
    return Unpacked(dtype, shape, partial(_write, file, names, dtype, width))


def _width(file: "ParquetFile", name: str) -> int:
    """Return the length of the first list."""
    for batch in file.iter_batches(1, columns=[name]):
        if length := batch.column(0).value_lengths()[0].as_py():
            return int(length)
        raise ValueError(f"row 0 of column {name!r} is empty; give each row its numbers")
    return 0


def _write(
    file: "ParquetFile", names: list[str], dtype: np.dtype, width: int, output: IO[bytes]
) -> None:
    """Write the rows of a matrix behind each other."""
    first = 0
    for batch in file.iter_batches(BATCH, columns=names):
        lists = batch.num_columns == 1 and hasattr(batch.column(0), "flatten")
        rows = _lists(batch, width, first) if lists else _numbers(batch, names)
        output.write(rows.astype(dtype).tobytes())
        first += len(rows)


def _lists(batch: "RecordBatch", width: int, first: int) -> np.ndarray:
    """Return lists as rows (b, width)."""
    column = batch.column(0)
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    if (wrong := np.flatnonzero(lengths != width)).size:
        row = int(wrong[0])
        raise ValueError(f"row {first + row} has {lengths[row]} values, but row 0 has {width}")
    values = column.flatten()
    if values.null_count:
        row = int(np.argmax(values.is_null().to_numpy(zero_copy_only=False))) // max(1, width)
        raise ValueError(f"row {first + row} has an empty value")
    return values.to_numpy(zero_copy_only=False).reshape(-1, width)


def _numbers(batch: "RecordBatch", names: list[str]) -> np.ndarray:
    """Return columns of numbers beside each other (b, columns); an empty field is NaN."""
    columns = (batch.column(name).to_numpy(zero_copy_only=False) for name in names)
    return np.stack([*columns], axis=1)


def _column(file: "ParquetFile", name: str) -> np.ndarray:
    """Return a column of texts or whole numbers."""
    values = file.read([name]).column(0).to_pylist()
    if all(isinstance(value, str) for value in values):
        return np.array(values, str)
    if all(isinstance(value, int) for value in values):
        return np.array(values, np.int64)
    if all(isinstance(value, float) for value in values):
        return np.array(values)
    row = next((n for n, value in enumerate(values) if type(value) is not type(values[0])), 0)
    raise ValueError(
        f"row {row} of column {name!r} is {str(values[row])[:40]!r}; give texts or whole numbers"
    )
