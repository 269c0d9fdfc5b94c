"""Spreadsheets saved as CSV; messages name rows as the spreadsheet numbers them."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from crossmodal.errors import CrossmodalError
from crossmodal.io.delimited_text import read_records
from crossmodal.io.files import LONGEST_FIELD

SHOWN = 50  # findings of a message
MISTYPED = 0.7  # likeness of a name to that of a column that is meant
INVENTED = re.compile(r"unnamed: [\d.]+")  # by pandas, for a column without name


class RowError(CrossmodalError):
    """Error in a row of a CSV.

    Args:
        table: The CSV.
        number: Row number; 0 if the file as a whole is wrong.
        reason: What is wrong, beginning with the column if it is of one.
    """

    def __init__(self, table: Path, number: int, reason: str) -> None:
        super().__init__(f"{table}: row {number}{reason}" if number else f"{table}{reason}")
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
        """Return one line per finding in the order of the rows, `SHOWN` at most."""
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
        values: Field of each column that is read.
        unread: Names of the other columns.
    """

    table: Path
    number: int
    values: dict[str, str]
    unread: tuple[str, ...] = ()

    def __getitem__(self, column: str) -> str:
        """Return the field of a column; empty where there is no such column."""
        return self.values.get(column, "")

    def error(self, column: str, reason: str) -> RowError:
        """Return an error that names file, row and column."""
        return RowError(self.table, self.number, f", column {column!r}: {reason}")


def read_rows(
    path: Path, columns: tuple[str, ...], renamed: dict[str, str] | None = None
) -> list[Row]:
    """Return rows of a CSV with a header, except empty ones; white space around fields is removed.

    Columns are separated by commas, semicolons, tabs or bars; Excel's line `sep=` is obeyed, and
    is no row. Names of columns may be of any case. Other columns are not read, but an error if
    their name is the mistyped one of a column that is missing. A column without name is left out
    if it is empty or, like the index that pandas writes, has another whole number in each row.

    Args:
        path: The CSV, in UTF-8 or UTF-16, with any line ends.
        columns: Columns that are read.
        renamed: Other names of columns, and theirs.

    Raises:
        CrossmodalError: If it is not such a file, a row has too many or too few fields, or a field
            has more than `LONGEST_FIELD` characters.
    """
    renamed = renamed or {}
    table = read_records(path, {*columns, *renamed})
    if not table:
        raise CrossmodalError(f"{path}: is empty; its first row names the columns")
    (first, header), *records = table
    names = _names(str(RowError(path, first, "")), header, columns, renamed)
    findings = Findings()
    for number, record in records:
        with findings.collect():
            check_record(path, number, record, names)
    findings.report()
    for place, name in enumerate(names):
        with findings.collect():
            if not name:
                _check_nameless(path, place, records)
    findings.report()
    places = {name: place for place, name in enumerate(names) if name in columns}
    unread = tuple(name for name in names if name and name not in columns)
    return [
        Row(path, number, {name: record[place] for name, place in places.items()}, unread)
        for number, record in records
    ]


def check_record(path: Path, number: int, record: list[str], names: list[str]) -> None:
    """Check that a row has a usable field for each column, and nothing behind them.

    Raises:
        RowError: If it has not.
    """
    if len(record) < len(names) or any(record[len(names) :]):
        raise RowError(
            path,
            number,
            f": {len(record)} fields, but {len(names)} columns, the last of them {names[-1]!r}; "
            "put text that has the separator of columns between double quotes",
        )
    for column, field in zip(names, record, strict=False):
        if "\0" in field:
            reason = "has a NUL character; type the field anew"
            raise RowError(path, number, f", column {column!r}: {reason}")
        if len(field) > LONGEST_FIELD:
            reason = f"has {len(field):,} characters, at most {LONGEST_FIELD:,} fit; shorten it"
            raise RowError(path, number, f", column {column!r}: {reason}")


def _plain(name: str) -> str:
    """Return a name of a column, as it is compared; empty for those that programs invent."""
    name = name.strip().strip("\ufeff").casefold()
    return "" if INVENTED.fullmatch(name) else name


def _names(
    where: str, header: list[str], columns: tuple[str, ...], renamed: dict[str, str]
) -> list[str]:
    """Return names of the columns up to the last one that has any; empty where there is none."""
    names = [renamed.get(name, name) for name in map(_plain, header)]
    while names and not names[-1]:
        names.pop()
    if not names:
        raise CrossmodalError(f"{where}: names no column; allowed: {', '.join(columns)}")
    missing = [column for column in columns if column not in names]
    for name in filter(None, names):
        repeated = name in columns and names.count(name) > 1
        if repeated or (name not in columns and get_close_matches(name, missing, 1, MISTYPED)):
            problem = "repeated" if repeated else "unknown"
            written = header[names.index(name)]
            raise CrossmodalError(
                f"{where}: column {written!r} is {problem}; allowed: {', '.join(columns)}"
            )
    return names


def _check_nameless(path: Path, place: int, records: list[tuple[int, list[str]]]) -> None:
    """Check that a column without name is empty or an index.

    Raises:
        RowError: If it holds other values.
    """
    fields = {number: record[place] for number, record in records if record[place]}
    values = {*fields.values()}
    is_index = len(values) == len(records) and all(value.isdecimal() for value in values)
    if fields and not is_index:
        number, field = next(iter(fields.items()))
        reason = f"has no name, but holds {field[:40]!r}; name it in the first row, or empty it"
        raise RowError(path, number, f", column {place + 1}: {reason}")
