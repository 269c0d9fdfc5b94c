"""CSV and TSV whose first row names the columns."""

from collections.abc import Iterator
from pathlib import Path

from crossmodal.datasets._formats.column_names import ALL, refuse_repeated
from crossmodal.io.delimited_text import read_records
from crossmodal.io.spreadsheets import Findings, check_record


def delimited_columns(path: Path) -> list[str]:
    """Return the names of the columns, up to the last one that has any; none of an empty file."""
    records = read_records(path, ALL)
    return _named(records[0][1]) if records else []


def delimited_rows(path: Path, bad: Findings) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield number and values of each row; one with too many or too few fields is malformed.

    Raises:
        CrossmodalError: If a column that is read is repeated.
    """
    (_, header), *records = read_records(path, ALL) or [(0, [])]
    names = _named(header)
    refuse_repeated(path, names)
    for number, record in records:
        with bad.collect():
            check_record(path, number, record, names)
            yield number, dict(zip(names, record, strict=False))


def _named(header: list[str]) -> list[str]:
    return header[: max((n for n, name in enumerate(header, 1) if name), default=0)]
