"""CSV of a user's own folder for the dataset `folder`: the one that is there, or a new one."""

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from crossmodal.data.prepared import SPLITS
from crossmodal.datasets._own_files import NOUNS, OwnFiles, OwnItem, items_of
from crossmodal.datasets._own_table import COLUMNS, MODALITIES, named_rows
from crossmodal.datasets._unread import listed
from crossmodal.errors import CrossmodalError
from crossmodal.io.spreadsheets import Row

LEAST = 10  # items of which something can be learnt


@dataclass
class Table:
    """A CSV that is there, or is to be written.

    Args:
        csv: Its path.
        rows: Its rows.
        columns: Its columns, if it is to be written.
        facts: What it holds, in words.
        option: Of the dataset `folder` that names it: `csv`, or `source` of another format.
        left_out: Lines on records, columns and files that are left out, in another format.
    """

    csv: Path
    rows: list[Row]
    columns: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    option: str = "csv"
    left_out: list[str] = field(default_factory=list)


def table_there(files: OwnFiles, place: Path) -> Table | None:
    """Return the CSV of the user, if there is one; its files count as read, others as left out."""
    folder = files.folder
    here = [path for path in folder.iterdir() if is_own_csv(path)]
    tables = here or [path for path in [place / "items.csv"] if path.is_file()]
    if len(tables) > 1:
        advice = "join them, with a column `split` where they are splits, or leave one"
        raise CrossmodalError(f"{folder}: {len(tables)} CSVs; {advice}")
    if not tables:
        return None
    csv = tables[0]
    rows = named_rows(csv)
    if rows and not suffices(rows[0].values):
        columns = ", ".join([*rows[0].values, *rows[0].unread])
        advice = f"add them, or give {csv} itself, where other names are read and paths are ids"
        need = "it needs id and two of the columns image, text and speech"
        raise CrossmodalError(f"{csv}: has the columns {columns}; {need}: {advice}")
    for why, paths in files.left_out.items():
        files.left_out[why] = [path for path in paths if folder / path != csv]
    files.left_out |= unnamed(files, rows, csv)
    counts = [f"{sum(bool(row[m]) for row in rows)} rows with {m}" for m in MODALITIES]
    return Table(csv, rows, facts=[f"{csv}: {len({row['id'] for row in rows})} items", *counts])


def unnamed(files: OwnFiles, rows: list[Row], table: Path) -> dict[str, list[Path]]:
    """Return pictures and sound files that no row of a table names, as what is left out."""
    folder = files.folder
    named = {_plain(folder, row[column]) for row in rows for column in ("image", "speech")}
    others = {
        f"{NOUNS[m]} that {table} does not name": [
            path for path in files.read[m] if _plain(folder, path.as_posix()) not in named
        ]
        for m in ("image", "speech")
    }
    return {why: paths for why, paths in others.items() if paths}


def is_own_csv(csv: Path) -> bool:
    """Return true if a file is a CSV that begins with names of columns that tables have."""
    return csv.suffix.lower() == ".csv" and csv.is_file() and len(own_columns(csv)) > 1


def own_columns(csv: Path) -> set[str]:
    """Return the names of columns that a CSV begins with, of those that tables have."""
    with csv.open("rb") as stream:  # of any encoding; the names may be below `sep=;`
        begin = b"".join(stream.readline(1 << 16) for _ in range(2)).replace(b"\0", b"")
    return {*COLUMNS} & {*re.findall(r"\w+", begin.decode("latin-1").lower())}


def suffices(columns: Collection[str]) -> bool:
    """Return whether columns of these names say what items are."""
    return "id" in columns and len({*MODALITIES} & {*columns}) > 1


def _plain(folder: Path, name: str) -> str:
    """Return a path in a folder as a CSV may write it, in one form."""
    return unicodedata.normalize("NFC", os.path.abspath(folder / name.replace("\\", "/")))


def new_table(files: OwnFiles, place: Path, skip_bad: bool) -> Table:
    """Return the table of a folder's files; `skip_bad` leaves texts out that cannot be read."""
    items = items_of(files, skip_bad)
    counts = {m: sum(m in item.has() for item in items) for m in MODALITIES}
    used = [m for m, count in counts.items() if count > len(items) / 2]
    chosen = [item for item in items if {*used} <= item.has()]
    if len(used) < 2 or len(chosen) < LEAST:
        have = ", ".join(f"{count} with {m}" for m, count in counts.items())
        message = (
            f"{files.folder}: {len(items)} items, {have}; {LEAST} with the same two are needed. "
            "Name files by what they show, put a text or sound file of the same name beside each, "
            "sort them into sub-folders, or write a CSV with the columns " + ", ".join(COLUMNS)
        )
        raise CrossmodalError("\n  ".join([message, *listed(files.left_out)]))
    others = [item for item in items if not {*used} <= item.has()]
    files.left_out[f"items that lack {' or '.join(used)}"] = [item.path for item in others]
    for m in [m for m in counts if m not in used]:
        more = [item.path for item in chosen if m in item.has()]
        files.left_out[f"items with {m}, which most lack; it is not read"] = more
    csv, records = place / "items.csv", [row for item in chosen for row in item.rows()]
    stated = [column for column in ("labels", "split") if any(row[column] for row in records)]
    header = ["id", *used, *stated]
    rows = [Row(csv, n, {c: row[c] for c in header}) for n, row in enumerate(records, 2)]
    return Table(csv, rows, header, [f"{files.folder}: {files.counts()}", *_facts(chosen, used)])


def _facts(items: list[OwnItem], used: list[str]) -> list[str]:
    """Return what the CSV holds, in words."""
    labels = {item.label for item in items} - {""}
    parts = [f"{len(items)} items", f"modalities {' and '.join(used)}"]
    parts += [f"{sum(len(item.text) for item in items)} captions"] if "text" in used else []
    parts += [f"{len(labels)} labels, the names of the sub-folders" if labels else "no labels"]
    lines = ["; ".join(parts)]
    if "text" in used:
        ways = {True: "lines of their texts", False: "words of their names"}
        counts = Counter(ways[item.described] for item in items)
        lines += [f"captions: {', '.join(f'{way} for {n} items' for way, n in counts.items())}"]
    unlabelled = sum(not item.label for item in items) if labels else 0
    lines += [f"{unlabelled} of the items are in no folder of a label"] if unlabelled else []
    splits = Counter(item.split for item in items if item.split)
    if splits:
        sizes = ", ".join(f"{splits[split]} {split}" for split in SPLITS if splits[split])
        drawn = " and ".join(split for split in SPLITS if not splits[split])
        lines += [f"splits, as the folders say: {sizes}"]
        lines += [f"{drawn} will be drawn from the training items"] if drawn else []
    return lines
