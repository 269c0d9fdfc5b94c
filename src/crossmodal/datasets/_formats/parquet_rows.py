"""Parquet, with columns of paths, of bytes, or of both as Hugging Face writes them."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from crossmodal.errors import FORMATS, CrossmodalError

if TYPE_CHECKING:
    from pyarrow import Field
    from pyarrow.parquet import ParquetFile

BATCH = 64  # rows in memory, pictures and all


def parquet_columns(path: Path) -> list[str]:
    """Return the names of the columns."""
    return [*_open(path).schema_arrow.names]


def parquet_rows(
    path: Path, columns: list[str], media: bool
) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield number and values of each row.

    Args:
        path: The file.
        columns: Those that are read.
        media: Whether bytes are read; otherwise others stand for them, in each row.

    Raises:
        CrossmodalError: If the file is damaged, or pyarrow is not installed.
    """
    file, number = _open(path), 0
    with_bytes = {} if media else _with_bytes(file, columns)
    read = [column for column in columns if column not in with_bytes] + [
        f"{column}.path" for column, has_path in with_bytes.items() if has_path
    ]
    try:
        for batch in file.iter_batches(BATCH, columns=read):
            for record in batch.to_pylist():
                number += 1
                place = f"{path}:{number}".encode()
                yield number, record | {c: _unread(record.get(c), place) for c in with_bytes}
    except (OSError, ValueError) as error:
        raise CrossmodalError(f"{path}: row {number + 1}: {error}; get the file again") from error


def _unread(value: object, place: bytes) -> dict[str, object]:
    """Return what stands for bytes that are not read, with their path where that is told."""
    return {"bytes": place, "path": value.get("path") if isinstance(value, dict) else None}


def _open(path: Path) -> "ParquetFile":
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise CrossmodalError(f"{path}: Parquet needs pyarrow; {FORMATS}") from error
    try:
        return ParquetFile(path)
    except (OSError, ValueError) as error:
        raise CrossmodalError(f"{path}: is no Parquet: {error}; get the file again") from error


def _with_bytes(file: "ParquetFile", columns: list[str]) -> dict[str, bool]:
    """Return the columns that hold bytes, and whether paths, too."""
    fields = [file.schema_arrow.field(column) for column in columns]
    return {field.name: "path" in _names(field) for field in fields if _has_bytes(field)}


def _names(field: "Field") -> set[str]:
    from pyarrow import types

    struct = types.is_struct(field.type)
    return {field.type.field(n).name for n in range(field.type.num_fields)} if struct else set()


def _has_bytes(field: "Field") -> bool:
    from pyarrow import types

    plain = types.is_binary(field.type) or types.is_large_binary(field.type)
    return plain or "bytes" in _names(field)
