"""Tables of any format with a row for each item or caption."""

from collections.abc import Iterator
from pathlib import Path

from crossmodal.datasets._formats.column_names import meant, parts, refuse_repeated
from crossmodal.datasets._formats.delimited_rows import delimited_columns, delimited_rows
from crossmodal.datasets._formats.excel_sheets import sheet_columns, sheet_rows
from crossmodal.datasets._formats.item_records import Keep, Record, split_in
from crossmodal.datasets._formats.json_lines import json_rows
from crossmodal.datasets._formats.named_files import NamedFiles
from crossmodal.datasets._formats.parquet_rows import parquet_columns, parquet_rows
from crossmodal.datasets._formats.table_members import TableMembers, unkept
from crossmodal.errors import CrossmodalError
from crossmodal.io.progress import track
from crossmodal.io.spreadsheets import Findings, RowError
from crossmodal.io.suffixes import SUFFIXES

KINDS = {".parquet": "Parquet", ".jsonl": "JSON Lines", ".ndjson": "JSON Lines"}
KINDS |= {".xlsx": "Excel", ".csv": "CSV", ".tsv": "CSV", ".txt": "CSV", ".json": "JSON"}

Rows = Iterator[tuple[int, dict[str, object]]]


def columns_of(path: Path) -> list[str]:
    """Return the names of a table's columns; none of an empty one, or of another file.

    Raises:
        CrossmodalError: If it cannot be read, or a library that reads it is not installed.
    """
    match KINDS.get(path.suffix.lower()):
        case "Parquet":
            return parquet_columns(path)
        case "Excel":
            return sheet_columns(path)
        case "CSV":
            return delimited_columns(path)
        case "JSON Lines" | "JSON":
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
    members, files = TableMembers(keep or unkept), NamedFiles(root)
    for table in track(tables, len(tables), f"read the tables of {folder}"):
        name = table.relative_to(folder).with_suffix("")
        split = split_in(name)
        beside = table.parent.relative_to(folder) if root == folder else Path()
        try:
            for number, record in _records(table, bad, keep):
                columns = meant(record)
                values = {"split": split} | parts(record, columns)
                unread = tuple(name for name in record if name and name not in columns.values())
                for part in ("image", "speech"):
                    content, path = _content(values.get(part))
                    if isinstance(content, bytes):
                        place = f"{table.relative_to(folder).as_posix()}/{part}/{number}"
                        suffix = Path(path).suffix.lower()
                        place += suffix if suffix in SUFFIXES[part] else ""
                        values[part] = members.of(content, split, path, place)
                    else:
                        values[part] = files.place(table, beside, content)
                yield Record(table, number, values, unread)
        except CrossmodalError as error:
            bad.errors.append(RowError(table, 0, f": {error}"))


def _records(table: Path, bad: Findings, keep: Keep | None) -> Rows:
    match KINDS[table.suffix.lower()]:
        case "Parquet":
            names = parquet_columns(table)
            refuse_repeated(table, names)
            columns = meant(names)
            media = keep is not None and (keep is not unkept or "id" not in columns)
            return parquet_rows(table, [*columns.values()], media)
        case "Excel":
            return sheet_rows(table)
        case "CSV":
            return delimited_rows(table, bad)
    return json_rows(table, bad)


def _content(value: object) -> tuple[object, str]:
    """Return the bytes or path that a value is, and the path of bytes where it has both."""
    if not isinstance(value, dict):
        return value, ""
    path = str(value.get("path") or "")
    return value.get("bytes") or path, path
