"""Spreadsheets saved as CSV; messages name rows as the spreadsheet numbers them."""

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crossmodal.errors import CrossmodalError

SHOWN = 50  # findings of a message


class RowError(CrossmodalError):
    """What is wrong in a row.

    Args:
        table: The CSV.
        number: Row number.
        reason: What is wrong, beginning with the column if it is of one.
    """

    def __init__(self, table: Path, number: int, reason: str) -> None:
        super().__init__(f"{table}: row {number}{reason}")
        self.number = number


class Findings:
    """Collects what is wrong with a CSV, to report it at once."""

    def __init__(self, errors: Iterable[RowError] = ()) -> None:
        self.errors = [*errors]

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Keep the error of a row that the block raises."""
        try:
            yield
        except RowError as error:
            self.errors.append(error)

    def __str__(self) -> str:
        """One line per finding in the order of the rows, `SHOWN` at most."""
        ordered = sorted(self.errors, key=lambda error: (error.number, str(error)))
        more = len(ordered) - SHOWN
        lines = [str(error) for error in ordered[:SHOWN]]
        return "\n".join([*lines, f"and {more} more"] if more > 0 else lines)

    def report(self) -> None:
        """Raise what was found.

        Raises:
            CrossmodalError: See `__str__`; if there is any.
        """
        if self.errors:
            raise CrossmodalError(str(self))


@dataclass(frozen=True)
class Row:
    """A row of the CSV; the header is row 1.

    Args:
        table: The CSV.
        number: Row number.
        values: Field of each column.
    """

    table: Path
    number: int
    values: dict[str, str]

    def __getitem__(self, column: str) -> str:
        """The field of a column; empty where there is no such column."""
        return self.values.get(column, "")

    def error(self, column: str, reason: str) -> RowError:
        """An error that names file, row and column."""
        return RowError(self.table, self.number, f", column {column!r}: {reason}")


def read_rows(
    path: Path, columns: tuple[str, ...], renamed: dict[str, str] | None = None
) -> list[Row]:
    """Rows of a CSV with a header, except empty ones; white space around fields is removed.

    Args:
        path: The CSV, in UTF-8 with commas.
        columns: Allowed columns.
        renamed: Former names of columns, and their present ones.

    Raises:
        CrossmodalError: If it is not such a file, or a row has too many or too few fields.
    """
    reader = csv.reader(io.StringIO(_decode(path), newline=""), strict=True)
    try:
        header, *records = [[field.strip() for field in record] for record in reader]
    except csv.Error as error:
        raise CrossmodalError(f"{path}: line {reader.line_num}: {error}; save it again") from error
    except ValueError as error:
        raise CrossmodalError(f"{path}: is empty; its first row names the columns") from error
    where = f"{path}: row 1"
    for former, present in (renamed or {}).items():
        if former in header:
            raise CrossmodalError(f"{where}: column {former!r} is called {present!r}; rename it")
    _check_header(where, header, columns)
    rows = [(number, record) for number, record in enumerate(records, 2) if any(record)]
    findings = Findings()
    for number, record in rows:
        with findings.collect():
            if len(record) != len(header):
                raise RowError(
                    path,
                    number,
                    f": {len(record)} fields, but {len(header)} columns; put text that has a comma "
                    "between double quotes",
                )
            for column, field in zip(header, record, strict=True):
                if "\0" in field:
                    reason = "has a NUL character; type the field anew"
                    raise RowError(path, number, f", column {column!r}: {reason}")
    findings.report()
    return [Row(path, number, dict(zip(header, record, strict=True))) for number, record in rows]


def _decode(path: Path) -> str:
    try:
        content = path.read_bytes()
        return content.decode("utf-8-sig")  # Excel marks its UTF-8 files
    except OSError as error:
        raise CrossmodalError(f"{path}: {error.strerror}; put your CSV there") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise CrossmodalError(
            f"{path}: line {line} is not UTF-8; save it as 'CSV UTF-8 (comma delimited)'"
        ) from error


def _check_header(where: str, header: list[str], columns: tuple[str, ...]) -> None:
    if len(header) == 1 and (found := {";", "\t"} & {*header[0]}):
        raise CrossmodalError(
            f"{where}: columns are separated by {found.pop()!r}; save it with commas, in Excel as "
            "'CSV UTF-8 (comma delimited)', elsewhere with a comma as field delimiter"
        )
    for column in header:
        if column not in columns or header.count(column) > 1:
            problem = "repeated" if column in columns else "unknown"
            raise CrossmodalError(
                f"{where}: column {column!r} is {problem}; allowed: {', '.join(columns)}"
            )
