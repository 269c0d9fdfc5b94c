"""Files that are either complete or absent."""

import csv
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crossmodal.errors import CrossmodalError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path that takes the name `path` only if the block succeeds."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())  # mkstemp makes files private to their owner
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` at once."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON with sorted keys."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        CrossmodalError: If the file is missing or is no JSON.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CrossmodalError(f"{path}: cannot be read as JSON ({error}); make it again") from error


def write_csv(path: Path, columns: list[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a header and rows as UTF-8 CSV."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        # without all quotes, Python 3.11 writes a bare carriage return that ends the row
        writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(columns)
        writer.writerows(rows)


def read_csv(path: Path, columns: list[str]) -> list[dict[str, str]]:
    """Read a CSV that has at least `columns`.

    Raises:
        CrossmodalError: If the file is missing, not UTF-8, or lacks a column or a field.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            header, rows = reader.fieldnames or [], list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CrossmodalError(f"{path}: cannot be read as UTF-8 CSV ({error})") from error
    missing = [column for column in columns if column not in header]
    if missing:
        raise CrossmodalError(f"{path}: column {missing[0]!r} is missing; needed: {columns}")
    for number, row in enumerate(rows, 1):
        if None in row or None in row.values():
            raise CrossmodalError(f"{path}: row {number} has not {len(header)} fields")
    return rows


def digest(*parts: Any) -> str:
    """Short hash of JSON values: the key under which unfinished work is found again."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
