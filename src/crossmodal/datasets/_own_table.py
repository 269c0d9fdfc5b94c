"""Items, captions and files that a user's CSV names, checked as a whole."""

import hashlib
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from crossmodal.data.prepared import SPLITS
from crossmodal.data.writer import is_file_name
from crossmodal.datasets._duplicates import Fingerprints
from crossmodal.errors import CrossmodalError
from crossmodal.io.image_files import read_image
from crossmodal.io.progress import track
from crossmodal.io.sound_files import decode_speech
from crossmodal.io.spreadsheets import Findings, Row, read_rows

MODALITIES = ("image", "text", "speech")
COLUMNS = ("id", *MODALITIES, "labels", "split")
RENAMED = {"audio": "speech"}
OF_ITEM = ("image", "labels", "split")  # the same in all rows of an item
SEPARATORS = ",/|\t"  # that people may have meant to separate labels

Items = dict[str, list[Row]]  # rows of each item, by id


def read_table(path: Path) -> tuple[Items, Fingerprints]:
    """The items of a CSV, in its order, and what tells equal ones; every file has been decoded.

    Raises:
        CrossmodalError: With all that is wrong, by row and column.
    """
    rows = named_rows(path)
    columns = rows[0].values if rows else {}
    if not rows:
        raise CrossmodalError(f"{path}: has no rows below its header; add one for each caption")
    if "id" not in columns or len({*MODALITIES} & {*columns}) < 2:
        raise CrossmodalError(
            f"{path}: has the columns {', '.join(columns)}; need id and two of "
            f"{', '.join(MODALITIES)}"
        )
    findings, prints = Findings(), Fingerprints()
    items = _grouped(rows, findings)
    for group in items.values():
        for column in columns:
            with findings.collect():
                _check_column(column, group)
    _read_files(rows, findings, prints)
    findings.report()
    _warn_of_labels(path, items)
    return items, prints


def named_rows(path: Path) -> list[Row]:
    """Rows of the CSV, not checked further."""
    return read_rows(path, COLUMNS, RENAMED)


def media_paths(row: Row) -> Iterator[tuple[str, Path]]:
    """The files that a row names, with their columns.

    Raises:
        CrossmodalError: If one is outside of the CSV's folder.
    """
    yield from ((column, row.path(column)) for column in ("image", "speech") if row[column])


def stating(rows: list[Row], column: str) -> Row:
    """The row of an item that states what belongs to the item."""
    return next((row for row in rows if row[column]), rows[0])


def labels_of(rows: list[Row]) -> tuple[str, ...]:
    """Labels of an item."""
    names = map(str.strip, stating(rows, "labels")["labels"].split(";"))
    return tuple(filter(None, names))


def _grouped(rows: list[Row], findings: Findings) -> Items:
    """Rows of each item; captions must differ."""
    items: Items = {}
    captions: dict[tuple[str, ...], Row] = {}
    for row in rows:
        with findings.collect():
            if not row["id"]:
                raise row.error("id", "is empty; name the item")
            if not is_file_name(row["id"]):
                raise row.error("id", f"{row['id']!r} cannot name a file; choose another name")
            items.setdefault(row["id"], []).append(row)
            first = captions.setdefault((row["id"], row["text"], row["speech"]), row)
            if first is not row:
                raise row.error(
                    "id", f"{row['id']!r} is also in row {first.number}, with the same caption"
                )
    return items


def _check_column(column: str, rows: list[Row]) -> None:
    """Whether an item has what it needs in a column, and says it once."""
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


def _read_files(rows: list[Row], findings: Findings, prints: Fingerprints) -> None:
    """Decode each file that the rows name, several at a time."""
    named: dict[tuple[str, Path], Row] = {}
    for row in rows:
        with findings.collect():
            for column, path in media_paths(row):
                named.setdefault((column, path), row)
                prints.name(row["id"], path)
    with ThreadPoolExecutor() as pool:
        read = pool.map(lambda one: _read_file(*one, findings, prints), named.items())
        for _ in track(read, len(named), f"read the files of {rows[0].table}"):
            pass


def _read_file(file: tuple[str, Path], row: Row, findings: Findings, prints: Fingerprints) -> None:
    column, path = file
    with findings.collect():
        if not path.resolve().is_relative_to(row.table.parent.resolve()):
            raise row.error(
                column,
                f"{path} is a link to {path.resolve()}, outside the folder {row.table.parent}; put "
                "the file there",
            )
        try:
            content = path.read_bytes()
            picture = read_image(content, str(path)) if column == "image" else None
            if not picture:
                decode_speech(content, str(path))
            prints.add(path, hashlib.sha256(content).hexdigest(), picture)
        except OSError as error:
            raise row.error(column, f"{path}: {error.strerror}; correct the path") from error
        except CrossmodalError as error:
            raise row.error(column, str(error)) from error


def _warn_of_labels(path: Path, items: Items) -> None:
    """Warn of labels that may be one, or several."""
    counts: dict[str, int] = {}
    for rows in items.values():
        for label in labels_of(rows):
            counts[label] = counts.get(label, 0) + 1
    found = [
        f"{label!r} has a separator; labels are separated by ';'"
        for label in counts
        if {*SEPARATORS} & {*label}
    ]
    forms: dict[str, str] = {}
    for label in counts:
        for other in {forms.setdefault(form, label) for form in _forms(label)} - {label}:
            found.append(f"{other!r} ({counts[other]}) and {label!r} ({counts[label]})")
    if found:
        warnings.warn(
            f"{path}: column 'labels': are these meant so? {'; '.join(found)}", stacklevel=2
        )


def _forms(label: str) -> set[str]:
    """What labels have in common that differ in case, or in a letter where they are long."""
    label = label.casefold()
    places = [place for place, sign in enumerate(label) if sign.isalpha() and len(label) > 3]
    return {label, *(label[:place] + label[place + 1 :] for place in places)}
