"""Spreadsheets that users save as CSV: every finding names the row as the spreadsheet counts it."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

from crossmodal.errors import CrossmodalError


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

    def error(self, column: str, reason: str) -> CrossmodalError:
        """An error that names file, row and column."""
        return CrossmodalError(f"{self.table}: row {self.number}, column {column!r}: {reason}")

    def path(self, column: str) -> Path:
        """The file that a column names, from the CSV's folder, with slashes or backslashes.

        Raises:
            CrossmodalError: If it is outside of the folder.
        """
        name = PureWindowsPath(self[column])
        if name.anchor or ".." in name.parts:
            raise self.error(
                column,
                f"{self[column]!r} leads out of the folder {self.table.parent}; put the file there",
            )
        return self.table.parent.joinpath(*name.parts)


def read_rows(path: Path, columns: tuple[str, ...]) -> list[Row]:
    """Rows of a CSV with a header, but for empty ones; blanks around fields are taken off.

    Args:
        path: The CSV, in UTF-8 with commas.
        columns: Allowed columns.

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
    _check_header(f"{path}: row 1", header, columns)
    rows = [(number, record) for number, record in enumerate(records, 2) if any(record)]
    for number, record in rows:
        if len(record) != len(header):
            raise CrossmodalError(
                f"{path}: row {number}: {len(record)} fields, but {len(header)} columns; put text "
                "that has a comma between double quotes"
            )
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
            problem = "there twice" if column in columns else "unknown"
            raise CrossmodalError(
                f"{where}: column {column!r} is {problem}; allowed: {', '.join(columns)}"
            )
