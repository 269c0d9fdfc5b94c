"""JSON Lines, a record on each; or a JSON file with a list of records, or with texts by file."""

import json
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from pathlib import Path

from crossmodal.errors import CrossmodalError
from crossmodal.io.spreadsheets import Findings, RowError

LONGEST = 1 << 28  # bytes of a line
EXAMPLE = '[{"image": "1.jpg", "text": "A dog runs."}]'
Rows = Iterator[tuple[int, dict[str, object]]]


def json_rows(path: Path, bad: Findings) -> Rows:
    """Yield number and values of each record; what is no record is malformed."""
    records = _whole(path) if path.suffix.lower() == ".json" else _lines(path)
    for number, text in records:
        with bad.collect():
            value = json_of(text, path, number) if isinstance(text, bytes) else text
            if not isinstance(value, dict):
                raise RowError(path, number, f": is no object, but {type(value).__name__}")
            yield number, value


def json_of(text: str | bytes, path: Path, number: int) -> object:
    """Return the value of a JSON text.

    Raises:
        RowError: If it is none.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RowError(path, number, f": is no JSON: {error}") from error


def _lines(path: Path) -> Iterator[tuple[int, object]]:
    with path.open("rb") as stream:
        number = 0
        if stream.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE):
            raise CrossmodalError(f"{path}: is UTF-16; save it as UTF-8")
        stream.seek(0)
        while line := stream.readline(LONGEST):
            number += 1
            if len(line) == LONGEST:
                raise CrossmodalError(f"{path}: line {number} has more than {LONGEST:,} bytes")
            if line.strip():
                yield number, line.removeprefix(b"\xef\xbb\xbf")


def _whole(path: Path) -> Iterator[tuple[int, object]]:
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise CrossmodalError(f"{path}: is no JSON: {error}") from error
    return enumerate(value if isinstance(value, list) else _listed(path, value), 1)


def _listed(path: Path, value: object) -> list[object]:
    """Return the records of an object: its only list of objects, or a record for each file.

    Raises:
        CrossmodalError: If it is another one.
    """
    fields = value if isinstance(value, dict) else {}
    lists = [v for v in fields.values() if isinstance(v, list) and v and isinstance(v[0], dict)]
    if len(lists) == 1:
        return lists[0]
    if not fields or lists or not all(isinstance(text, str | list) for text in fields.values()):
        raise CrossmodalError(f"{path}: is no list of records; save one, such as {EXAMPLE}")
    return [{"file": name, "text": text} for name, text in fields.items()]
