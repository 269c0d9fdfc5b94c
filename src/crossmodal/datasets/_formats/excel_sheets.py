"""Excel's workbooks: the sheet whose first row names the columns."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

from crossmodal.datasets._formats.column_names import PAGE, refuse_repeated, suffices
from crossmodal.errors import FORMATS, CrossmodalError, listed

LARGEST = 1 << 30  # bytes of the unpacked workbook

Cells = tuple[object, ...]  # of a row


def sheet_columns(path: Path) -> list[str]:
    """Return the names of the columns; see `sheet_rows`."""
    return _header(_sheet(path)[0])


def sheet_rows(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield number and values of each row below the header; empty ones are left out.

    Raises:
        CrossmodalError: If it is no such workbook, no or several sheets have a header that names
            columns, one of them is repeated, or openpyxl is not installed.
    """
    first, *rows = _sheet(path)
    header = _header(first)
    refuse_repeated(path, header)
    for number, row in enumerate(rows, 2):
        if any(value is not None for value in row):
            yield number, dict(zip(header, row, strict=False))


def _header(row: Cells) -> list[str]:
    return [str(name or "").strip() for name in row]


def _sheet(path: Path) -> list[Cells]:
    """Return the rows of the sheet whose first row names the columns; refuse several."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise CrossmodalError(f"{path}: Excel needs openpyxl; {FORMATS}") from error
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(info.file_size for info in archive.infolist())
        if size > LARGEST:
            raise ValueError(f"has {size:,} bytes when unpacked, at most {LARGEST:,} fit")
        book = load_workbook(path, read_only=True, data_only=True)
        sheets = {sheet.title: [*sheet.iter_rows(values_only=True)] for sheet in book.worksheets}
    except Exception as error:  # openpyxl raises anything on corrupt files
        raise CrossmodalError(f"{path}: is no Excel workbook: {error}; save it again") from error
    chosen = [title for title, rows in sheets.items() if rows and suffices(_header(rows[0]))]
    if len(chosen) > 1:
        advice = "join them, with a column `split` where they are splits, or remove the others"
        raise CrossmodalError(f"{path}: sheets {listed(chosen)} have items; {advice}")
    if chosen:
        return sheets[chosen[0]]
    first = next((rows[0] for rows in sheets.values() if rows), ())
    raise CrossmodalError(
        f"{path}: no sheet's first row names two of image, text and speech, as {PAGE} has them; "
        f"the first sheet has: {listed(str(name) for name in first if name) or 'nothing'}"
    )
