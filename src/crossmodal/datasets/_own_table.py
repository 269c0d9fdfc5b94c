"""Items, captions and files that a user's CSV names, checked as a whole."""

import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from crossmodal.data.prepared import SPLITS
from crossmodal.data.writer import is_file_name
from crossmodal.datasets._duplicates import Fingerprints
from crossmodal.datasets._formats.item_records import MODALITIES, Source
from crossmodal.datasets._formats.text_lists import list_of_texts
from crossmodal.datasets._own_items import Items, remarks, stating, warn_of_labels
from crossmodal.datasets._own_media import File, Media
from crossmodal.errors import CrossmodalError
from crossmodal.io.progress import track
from crossmodal.io.spreadsheets import Findings, Row, RowError, read_rows
from crossmodal.plugin import Language

COLUMNS = ("id", *MODALITIES, "labels", "split", "language")
RENAMED = {"audio": "speech"}
LANGUAGE = TypeAdapter[str](Language)
OF_ITEM = ("image", "labels", "split")  # the same in all rows of an item


@dataclass
class Table:
    """A CSV that was read.

    Args:
        items: Rows of each item, in the order of the CSV.
        remarks: Remarks on the data, see `Writer.remark`.
        prints: What tells equal items.
    """

    items: Items
    remarks: list[str] = field(default_factory=list)
    prints: Fingerprints = field(default_factory=Fingerprints)


def read_table(source: Source, media: Media, skip_bad: bool) -> Table:
    """Read the items of a CSV or another format, and decode every file that they name.

    Args:
        source: Its rows.
        media: Finds the files.
        skip_bad: Whether files that cannot be read are left out, and items that then lack
            something.

    Raises:
        CrossmodalError: With all that is wrong, by row and column.
    """
    path, rows = source.path, source.rows
    columns = rows[0].values if rows else {}
    if source.bad.errors and not (skip_bad and rows):
        source.bad.report()
    if not rows:
        raise CrossmodalError(f"{path}: has no rows below its header; add one for each caption")
    if "id" not in columns:
        raise CrossmodalError(f"{path}: has the columns {', '.join(columns)}; it needs id")
    if not media.root.is_dir():
        reason = "in which its files are looked up, is no folder; correct `root`"
        raise CrossmodalError(f"{path}: {media.root}, {reason}")
    if unread := sorted({name for row in rows for name in row.unread}):
        warnings.warn(f"{path}: columns that are not read: {', '.join(unread)}", stacklevel=2)
    findings = Findings()
    table = Table(items_of(rows, findings))
    if source.bad.errors:
        warnings.warn(f"left out, since they are malformed:\n{source.bad}", stacklevel=2)
        table.remarks.append(f"lacks {len(source.bad.errors):,} malformed records")
    bad = _read_files(source, media, findings, table)
    findings.errors += [] if skip_bad else bad.values()
    findings.report()
    if bad:
        _leave_out(bad, media, table)
    for id, group in table.items.items():
        for _, file in (file for row in group for file in media.files(row)):
            table.prints.name(id, file)
    table.remarks += remarks(table.items)
    warn_of_labels(path, table.items)
    return table


def named_rows(path: Path) -> list[Row]:
    """Return rows of the CSV, of which languages alone are checked.

    A list of texts in a cell is a row of each.

    Raises:
        CrossmodalError: If it cannot be read, or a language is none of BCP 47.
    """
    rows = read_rows(path, COLUMNS, RENAMED)
    check_languages(rows)
    return [each for row in rows for each in _rows_of(row)]


def check_languages(rows: list[Row]) -> None:
    """Check that the languages of rows are codes.

    Raises:
        CrossmodalError: With all that are none of BCP 47.
    """
    findings = Findings()
    for row in rows:
        try:
            LANGUAGE.validate_python(row["language"] or "und")
        except ValidationError:
            reason = "is no language by BCP 47, such as 'de' or 'pt-BR'; correct it"
            findings.errors.append(row.error("language", f"{row['language'][:40]!r} {reason}"))
    findings.report()


def _rows_of(row: Row) -> Iterator[Row]:
    texts = list_of_texts(row["text"])
    for number, text in enumerate(texts or [row["text"]]):
        others = ("image", "speech", "labels", "split") if number else ()
        emptied = {column: "" for column in others if column in row.values}
        yield replace(row, values=row.values | emptied | {"text": text}) if texts else row


def items_of(rows: list[Row], findings: Findings) -> Items:
    """Return rows of each item; findings get what is wrong in them."""
    items: Items = {}
    for row in rows:
        with findings.collect():
            if not row["id"]:
                raise row.error("id", "is empty; name the item")
            if not is_file_name(row["id"]):
                raise row.error("id", f"{row['id']!r} cannot name a file; choose another name")
            items.setdefault(row["id"], []).append(row)
    for group in items.values():
        for column in rows[0].values:  # an item of another CSV may have others
            with findings.collect():
                _check_column(column, group)
    return items


def _check_column(column: str, rows: list[Row]) -> None:
    """Check that an item has a value in a column where it needs one, and only one."""
    first = stating(rows, column)
    if column in MODALITIES and not first[column]:
        raise first.error(column, f"is empty for item {first['id']!r}; fill it in")
    for row in rows:
        if column in OF_ITEM and row[column] not in ("", first[column]):
            raise row.error(
                column,
                f"item {row['id']!r} has {row[column]!r} here, but {first[column]!r} in row "
                f"{first.number}",
            )
    if column == "split" and first["split"] not in SPLITS:
        raise first.error("split", f"{first['split']!r} is not one of {', '.join(SPLITS)}")


def _read_files(
    source: Source, media: Media, findings: Findings, table: Table
) -> dict[File, RowError]:
    """Decode each file that the rows name, several at a time; those that cannot be read."""
    first: dict[File, Row] = {}
    for row in source.rows:
        with findings.collect():
            for file in media.files(row):
                first.setdefault(file, row)
    bad: dict[File, RowError] = {}
    silent = Findings()

    def read(file: File) -> None:
        column, path = file
        try:
            content = media.decode(path, column)
        except CrossmodalError as error:
            bad[file] = first[file].error(column, str(error))
            return
        table.prints.add(path, content.digest, content.picture)
        if content.samples == 0:
            silent.errors.append(first[file].error(column, f"{path}: has no samples"))

    with ThreadPoolExecutor() as pool:
        for _ in track(pool.map(read, first), len(first), f"read the files of {source.path}"):
            pass
    if silent.errors:
        warnings.warn(str(silent), stacklevel=2)
        table.remarks.append(f"has {len(silent.errors):,} sound files without samples")
    return bad


def _leave_out(bad: dict[File, RowError], media: Media, table: Table) -> None:
    """Leave out files that cannot be read, and items that then lack something.

    Raises:
        CrossmodalError: If no item is left.
    """
    items = {id: [_emptied(row, bad, media) for row in rows] for id, rows in table.items.items()}
    left = {id: rows for id, rows in items.items() if _is_whole(rows)}
    reasons = str(Findings(bad.values()))
    if not left:
        raise CrossmodalError(reasons)
    warnings.warn(f"left out, since they cannot be read:\n{reasons}", stacklevel=2)
    lost = f"lacks {len(bad):,} files that cannot be read"
    lost += f", and {len(items) - len(left):,} of {len(items):,} items that need them"
    table.items = left
    table.remarks.append(lost)


def _emptied(row: Row, bad: dict[File, RowError], media: Media) -> Row:
    """Return a row without the files that cannot be read."""
    columns = (column for column, path in media.files(row) if (column, path) in bad)
    return replace(row, values=row.values | dict.fromkeys(columns, ""))


def _is_whole(rows: list[Row]) -> bool:
    """Check that an item has something of each modality that is a column."""
    return all(stating(rows, m)[m] for m in MODALITIES if m in rows[0].values)
