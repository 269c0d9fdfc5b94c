"""Tables of any format with a row for each item or caption."""

from collections.abc import Iterator
from pathlib import Path

from crossmodal.datasets._formats.column_names import meant, parts
from crossmodal.datasets._formats.delimited_rows import delimited_columns, delimited_rows
from crossmodal.datasets._formats.excel_sheets import sheet_columns, sheet_rows
from crossmodal.datasets._formats.item_records import Keep, Member, Record, split_in
from crossmodal.datasets._formats.json_lines import json_rows
from crossmodal.datasets._formats.parquet_rows import parquet_columns, parquet_rows
from crossmodal.errors import CrossmodalError
from crossmodal.io.extents import Extent
from crossmodal.io.progress import track
from crossmodal.io.spreadsheets import Findings, RowError
from crossmodal.io.suffixes import SUFFIXES

KINDS = {".parquet": "Parquet", ".jsonl": "JSON Lines", ".ndjson": "JSON Lines"}
KINDS |= {".xlsx": "Excel", ".csv": "CSV", ".tsv": "CSV", ".json": "JSON"}

Rows = Iterator[tuple[int, dict[str, object]]]


def columns_of(path: Path) -> list[str]:
    """Return the names of a table's columns; none of an empty one, or of another file.

    Raises:
        CrossmodalError: If it cannot be read, or a library that reads it is not installed.
    """
    match path.suffix.lower():
        case ".parquet":
            return parquet_columns(path)
        case ".xlsx":
            return sheet_columns(path)
        case ".csv" | ".tsv":
            return delimited_columns(path)
        case ".jsonl" | ".ndjson" | ".json":
            _, first = next(json_rows(path, Findings()), (0, {}))
            return [*first]
    return []


def table_records(
    tables: list[Path], folder: Path, root: Path, bad: Findings, keep: Keep | None
) -> Iterator[Record]:
    """Yield the records of tables.

    Args:
        tables: Files of `KINDS`.
        folder: What their splits and ids are told from, by the paths from there.
        root: From which paths start.
        bad: Gets what is malformed.
        keep: Stores bytes; without, they are not read.
    """
    for table in track(tables, len(tables), f"read the tables of {folder}"):
        name = table.relative_to(folder).with_suffix("")
        split = split_in(name)
        beside = table.parent.relative_to(folder) if root == folder else Path()
        try:
            for number, record in _records(table, bad, keep is not None):
                columns = meant(record)
                values = {"split": split} | parts(record, columns)
                unread = tuple(name for name in record if name and name not in columns.values())
                for part in ("image", "speech"):
                    place = f"{table.relative_to(folder).as_posix()}/{part}/{number}"
                    value = values.get(part)
                    values[part] = _placed(value, place, SUFFIXES[part], beside, keep or _unkept)
                if not values.get("id") and isinstance(values["image"], Member):
                    values["id"] = f"{name.as_posix()}-{number}"
                yield Record(table, number, values, unread)
        except CrossmodalError as error:
            bad.errors.append(RowError(table, 0, f": {error}"))


def _unkept(content: bytes) -> Extent:
    return Extent(Path(), 0, 0)


def _records(table: Path, bad: Findings, media: bool) -> Rows:
    match table.suffix.lower():
        case ".parquet":
            return parquet_rows(table, [*meant(parquet_columns(table)).values()], media)
        case ".xlsx":
            return sheet_rows(table)
        case ".csv" | ".tsv":
            return delimited_rows(table, bad)
    return json_rows(table, bad)


def _placed(
    value: object, name: str, suffixes: tuple[str, ...], beside: Path, keep: Keep
) -> object:
    """Return the path from the root, or the member, that a value is.

    Args:
        value: A path, bytes, both as Hugging Face writes them, or nothing.
        name: Path that stands for the bytes.
        suffixes: That this may get.
        beside: Where paths start.
        keep: Stores bytes.
    """
    path = ""
    if isinstance(value, dict):
        path = str(value.get("path") or "")
        value = value.get("bytes") or path
    if isinstance(value, bytes):
        suffix = Path(path).suffix.lower()
        return Member(name + suffix * (suffix in suffixes), keep(value))
    is_path = isinstance(value, str) and value and "://" not in value
    return (beside / str(value)).as_posix() if is_path else value
