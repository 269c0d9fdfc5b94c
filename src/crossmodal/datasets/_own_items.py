"""Items of a user's CSV: what their rows state, and what there is to remark on them."""

import warnings
from collections.abc import Iterator
from pathlib import Path

from crossmodal.datasets._formats.text_lists import list_of_texts
from crossmodal.io.spreadsheets import Row

SEPARATORS = ",/|\t"  # that people may have meant to separate labels

Items = dict[str, list[Row]]  # rows of each item, by id


def stating(rows: list[Row], column: str) -> Row:
    """Return the row of an item that states what belongs to the item."""
    return next((row for row in rows if row[column]), rows[0])


def labels_of(rows: list[Row]) -> tuple[str, ...]:
    """Return the labels of an item."""
    cell = stating(rows, "labels")["labels"]
    names = map(str.strip, list_of_texts(cell) or cell.split(";"))
    return tuple(filter(None, names))


def captions_of(rows: list[Row]) -> dict[int, Row]:
    """Return captions of an item by the number of their row; of identical ones the first.

    Without columns of texts and speech, each row is a caption, which an array may describe.
    """
    if not is_told(rows):
        return dict(enumerate(rows))
    numbers: dict[tuple[str, str], int] = {}
    for number, row in enumerate(rows):
        if row["text"] or row["speech"]:
            numbers.setdefault((row["text"], row["speech"]), number)
    return {number: rows[number] for number in numbers.values()}


def is_told(rows: list[Row]) -> bool:
    """Return whether captions have columns."""
    return bool({"text", "speech"} & {*rows[0].values})


def remarks(items: Items) -> Iterator[str]:
    """Yield remarks on what items and rows lack, or have twice."""
    rows = [row for rows in items.values() for row in rows]
    unlabelled = sum(not labels_of(rows) for rows in items.values())
    silent = is_told(rows) * sum(not (row["text"] or row["speech"]) for row in rows)
    spoken = sum("text" in row.values and not row["text"] and bool(row["speech"]) for row in rows)
    repeated = len(rows) - silent - sum(len(captions_of(rows)) for rows in items.values())
    if 0 < unlabelled < len(items):
        yield (
            f"has {unlabelled:,} of {len(items):,} items without labels, which methods that learn "
            "from labels leave out or take as of no category"
        )
    if silent and "text" in rows[0].values:
        yield f"has {silent:,} rows without text or speech, which are no captions"
    if spoken:
        yield f"has {spoken:,} spoken captions without text, which have no words"
    if repeated:
        yield f"has {repeated:,} captions that an item has twice, which count once"


def warn_of_labels(path: Path, items: Items) -> None:
    """Warn of labels that may be one, or several."""
    counts: dict[str, int] = {}
    for rows in items.values():
        for label in labels_of(rows):
            counts[label] = counts.get(label, 0) + 1
    doubts = [
        f"{label!r} has a separator; labels are separated by ';'"
        for label in counts
        if {*SEPARATORS} & {*label}
    ]
    forms: dict[str, str] = {}
    for label in counts:
        for other in {forms.setdefault(form, label) for form in _forms(label)} - {label}:
            doubts.append(f"{other!r} ({counts[other]}) and {label!r} ({counts[label]})")
    if doubts:
        warnings.warn(
            f"{path}: column 'labels': are these meant so? {'; '.join(doubts)}", stacklevel=2
        )


def _forms(label: str) -> set[str]:
    """Return keys that two labels share if they differ in case, or, if long, in one letter."""
    label = label.casefold()
    places = [place for place, sign in enumerate(label) if sign.isalpha() and len(label) > 3]
    return {label, *(label[:place] + label[place + 1 :] for place in places)}
