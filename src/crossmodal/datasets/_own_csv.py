"""CSV of a user's own folder for the dataset `folder`: the one that is there, or a new one."""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from itertools import compress
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


def table_there(folder: Path, place: Path, files: OwnFiles) -> Table | None:
    """Return the CSV of the user, if there is one; its files count as read, others as left out."""
    here = [path for path in folder.iterdir() if is_own_csv(path)]
    tables = here or [path for path in [place / "items.csv"] if path.is_file()]
    if len(tables) > 1:
        raise CrossmodalError(f"{folder}: {len(tables)} CSVs; leave the one that names the files")
    if not tables:
        return None
    csv = tables[0]
    rows = named_rows(csv)
    if rows and "id" not in rows[0].values:
        columns = ", ".join(rows[0].values)
        advice = f"add it, or give {csv} itself, whose paths are ids then"
        raise CrossmodalError(f"{csv}: has the columns {columns}; it needs id: {advice}")
    for why, paths in files.left_out.items():
        files.left_out[why] = [path for path in paths if folder / path != csv]
    files.left_out |= unnamed(files, rows, csv)
    counts = [f"{sum(bool(row[m]) for row in rows)} rows with {m}" for m in MODALITIES]
    return Table(csv, rows, facts=[f"{csv}: {len({row['id'] for row in rows})} items", *counts])


def unnamed(files: OwnFiles, rows: list[Row], table: Path) -> dict[str, list[Path]]:
    """Return pictures and sound files that no row of a table names, as what is left out."""
    named = {_plain(row[column]) for row in rows for column in ("image", "speech")}
    others = {
        f"{NOUNS[m]} that {table} does not name": [
            path for path in files.read[m] if _plain(path.as_posix()) not in named
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


def _plain(name: str) -> str:
    """Return a path as a CSV may write it, in one form."""
    return unicodedata.normalize("NFC", name).replace("\\", "/").removeprefix("./")


def new_table(folder: Path, place: Path, files: OwnFiles, skip_bad: bool) -> Table:
    """Return the table of a folder's files; `skip_bad` leaves texts out that cannot be read."""
    items = items_of(folder, files, skip_bad)
    counts = {m: sum(m in item.has() for item in items) for m in MODALITIES}
    used = [m for m, count in counts.items() if count > len(items) / 2]
    chosen = [item for item in items if {*used} <= item.has()]
    if len(used) < 2 or len(chosen) < LEAST:
        have = ", ".join(f"{count} with {m}" for m, count in counts.items())
        message = (
            f"{folder}: {len(items)} items, {have}; {LEAST} with the same two are needed. Name "
            "files by what they show, put a text or sound file of the same name beside each, sort "
            "them into sub-folders, or write a CSV with the columns " + ", ".join(COLUMNS)
        )
        raise CrossmodalError("\n  ".join([message, *listed(files.left_out)]))
    others = [item for item in items if not {*used} <= item.has()]
    lacking = [Path(item.image or item.speech[0]) for item in others]
    if lacking:
        files.left_out[f"items that lack {' or '.join(used)}"] = lacking
    columns = {"id", *used} | ({"labels"} if any(item.label for item in chosen) else set())
    columns |= {"split"} if any(item.split for item in chosen) else set()
    selected = [column in columns for column in COLUMNS]
    header = [*compress(COLUMNS, selected)]
    csv = place / "items.csv"
    records = (compress(row, selected) for item in chosen for row in item.rows())
    rows = [
        Row(csv, number, dict(zip(header, record, strict=True)))
        for number, record in enumerate(records, 2)
    ]
    return Table(csv, rows, header, [f"{folder}: {files.counts()}", *_facts(chosen, used)])


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
