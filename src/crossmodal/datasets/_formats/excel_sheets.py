"""Excel's workbooks: the first sheet whose first row names the columns."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

from crossmodal.datasets._formats.column_names import PAGE, suffices
from crossmodal.errors import FORMATS, CrossmodalError, listed

LARGEST = 1 << 30  # bytes of the unpacked workbook


def sheet_rows(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield number and values of each row below the header; empty ones are left out.

    Raises:
        CrossmodalError: If it is no such workbook, no sheet has a header that names columns, or
            openpyxl is not installed.
    """
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
        sheets = [[*sheet.iter_rows(values_only=True)] for sheet in book.worksheets]
    except Exception as error:  # openpyxl raises anything on corrupt files
        raise CrossmodalError(f"{path}: is no Excel workbook: {error}; save it again") from error
    for rows in sheets:
        header = [str(name or "").strip() for name in rows[0]] if rows else []
        if suffices(header):
            yield from (
                (number, dict(zip(header, row, strict=False)))
                for number, row in enumerate(rows[1:], 2)
                if any(value is not None for value in row)
            )
            return
    first = next((rows[0] for rows in sheets if rows), ())
    raise CrossmodalError(
        f"{path}: no sheet's first row names two of image, text and speech, as {PAGE} has them; "
        f"the first sheet has: {listed(str(name) for name in first if name) or 'nothing'}"
    )
