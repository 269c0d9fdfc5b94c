"""Records of a format, and the rows of a CSV that would say the same."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path, PurePosixPath

from crossmodal.data.prepared import SPLITS
from crossmodal.data.writer import is_file_name, is_writable
from crossmodal.datasets._formats.text_lists import list_of_texts
from crossmodal.datasets._own_labels import SPLIT, SPLIT_OF, split_and_others
from crossmodal.datasets._own_names import legal_id
from crossmodal.io.extents import Extent
from crossmodal.io.spreadsheets import Findings, Row, RowError

Keep = Callable[[bytes], Extent]  # stores bytes, for the time of a preparation

MODALITIES = ("image", "text", "speech")
SPOKEN = "raw", "text", "caption"  # keys of a caption that is an object


@dataclass(frozen=True, slots=True)
class Member:
    """A picture or sound within another file.

    Args:
        name: Path that stands for it, from the root.
        extent: Where it lies.
    """

    name: str
    extent: Extent


@dataclass(frozen=True, slots=True)
class Record:
    """Statement of a format on an item.

    Args:
        table: File that says it.
        number: Of the record, from 1.
        values: Of `id`, `image`, `text`, `speech`, `labels` and `split`, as far as they are
            stated; an image or speech is a path from the root or a `Member`.
        unread: Names of columns, or endings of files, that are not read.
    """

    table: Path
    number: int
    values: dict[str, object]
    unread: tuple[str, ...] = ()

    def error(self, reason: str) -> RowError:
        """Return an error that names file and record."""
        return RowError(self.table, self.number, f": {reason}")


@dataclass
class Source:
    """Items of a format.

    Args:
        path: File or folder that was read.
        kind: Name of the format.
        root: Folder from which rows name files.
        rows: As those of a CSV.
        members: Where the files lie that are within others.
        bad: What is malformed.
        notes: What else is to be said, such as splits that are not used.
        unread: Names of columns, or endings of files, that are not read.
    """

    path: Path
    kind: str
    root: Path
    rows: list[Row] = field(default_factory=list)
    members: dict[Path, Extent] = field(default_factory=dict)
    bad: Findings = field(default_factory=Findings)
    notes: list[str] = field(default_factory=list)
    unread: dict[str, None] = field(default_factory=dict)  # in their order

    def fill(self, records: Iterable[Record]) -> None:
        """Take the records' rows.

        A record that lacks what most items have is malformed.
        """
        items: list[tuple[Record, list[dict[str, str]]]] = []
        for record in records:
            self.unread |= dict.fromkeys(record.unread)
            with self.bad.collect():
                items.append((record, [*self._fields(record)]))
        has: dict[str, set[str]] = {}
        for _, rows in items:
            for row in rows:
                has.setdefault(row["id"], set()).update(name for name in row if row[name])
        counts = {m: sum(m in each for each in has.values()) for m in MODALITIES}
        used = [m for m in MODALITIES if counts[m] > len(has) / 2]
        self.notes += [
            f"{m} of {counts[m]:,} items, which others lack, is not read"
            for m in MODALITIES
            if counts[m] and m not in used
        ]
        splits = {row["split"] for _, rows in items for row in rows} - {""}
        needed = ["id", *used]
        if len(splits) > 1 and "train" in splits:
            needed.append("split")
        elif splits:
            self.notes.append(f"all items are of split {' or '.join(splits)}: splits are drawn")
        columns = [*needed, *({"labels"} & {name for each in has.values() for name in each})]
        for record, rows in items:
            lacking = [name for name in needed if name not in has[rows[0]["id"]]]
            if lacking:
                reason = f"has no {' and no '.join(lacking)}, which others have"
                self.bad.errors.append(record.error(reason))
            else:
                self.rows += [
                    Row(record.table, record.number, {column: row[column] for column in columns})
                    for row in rows
                ]

    def _fields(self, record: Record) -> Iterator[dict[str, str]]:
        """Yield the fields of each caption of a record.

        Raises:
            RowError: If a value is not of its kind.
        """
        values = record.values
        try:
            texts = texts_of(values.get("text"), "caption")
            labels = ";".join(texts_of(values.get("labels"), "label"))
            split, stated = split_of(values.get("split")), id_of(values.get("id"))
        except ValueError as error:
            raise record.error(str(error)) from error
        except RecursionError as error:
            reason = "its lists are nested too deeply; give a text, or a list of them"
            raise record.error(reason) from error
        image = self._file(record, values.get("image"))
        speech = self._file(record, values.get("speech"))
        if not stated:
            if not (image or speech):
                raise record.error("has no id, and no image or speech, whose path would be it")
            stated = PurePosixPath(image or speech).with_suffix("").as_posix()
        id = legal_id(PurePosixPath(stated))
        if not is_file_name(id):
            raise record.error(f"{stated[:80]!r} names no item")
        for number, (text, spoken) in enumerate(
            zip_longest(texts or [""], [speech] if speech else [], fillvalue="")
        ):
            of_item = {"image": image, "labels": labels, "split": split}
            row = of_item if not number else dict.fromkeys(of_item, "")
            yield {"id": id, "text": text, "speech": spoken, **row}

    def _file(self, record: Record, value: object) -> str:
        """Return the path of a picture or sound from the root, which holds it.

        Raises:
            RowError: If it is no path, or one that leads elsewhere.
        """
        if value in (None, ""):
            return ""
        if isinstance(value, Member):
            self.members[self.root / value.name] = value.extent
            return value.name
        if not isinstance(value, str):
            raise record.error(f"a {type(value).__name__} is no path; give one, or bytes")
        if "://" in value:
            raise record.error(
                f"{value[:80]!r} is an address; download the files first, as img2dataset does"
            )
        path = PurePosixPath(value)
        if path.is_absolute() and path.is_relative_to(self.root.absolute()):
            path = path.relative_to(self.root.absolute())
        if path.is_absolute() or ".." in path.parts:
            reason = f"{value[:80]!r} lies outside of {self.root}; set `root` to a folder above it"
            raise record.error(reason)
        return path.as_posix()

    def facts(self) -> str:
        """Return what was read, in one line with counts."""
        rows, columns = self.rows, self.rows[0].values if self.rows else {}
        parts = [f"{len({row['id'] for row in rows}):,} items"]
        has = [m for m in MODALITIES if m in columns]
        parts += [f"with {' and '.join(has)}"] if has else []
        parts.append(f"{sum(bool(row['text']) for row in rows):,} captions")
        labels = {name for row in rows for name in row["labels"].split(";")} - {""}
        parts += [f"{len(labels):,} labels"] if labels else []
        sizes = Counter({row["id"]: row["split"] for row in rows if row["split"]}.values())
        counts = ", ".join(f"{sizes[s]:,} {s}" for s in SPLITS if sizes[s])
        parts += [f"splits {counts}"] if sizes else []
        parts += [f"{len(self.bad.errors):,} malformed"] if self.bad.errors else []
        return f"{self.path}: {self.kind}: {', '.join(parts)}"


def id_of(value: object) -> str:
    """Return an id as a CSV holds it; empty if it is missing.

    Raises:
        ValueError: If it is neither a text nor a number.
    """
    if value is None or value != value:  # NaN, as pandas writes what is missing
        return ""
    if isinstance(value, list | dict | bool):
        raise ValueError(f"a {type(value).__name__} is no id; give a text or a number")
    return str(_whole(value))


def _whole(value: object) -> object:
    """Return a whole number that pandas made fractional as such, anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def texts_of(value: object, kind: str) -> list[str]:
    """Return the captions or labels that a value holds.

    Args:
        value: A text or whole number, a list of them, or such a list as a text.
        kind: What they are, for messages.

    Raises:
        ValueError: If it holds something else, or what cannot be stored.
    """
    if isinstance(value, dict):
        value = next((value[key] for key in SPOKEN if key in value), value)
    if value is None or value != value:
        return []
    if isinstance(value, str):
        value = list_of_texts(value) or value
    if isinstance(value, list | tuple):
        return [text for entry in value for text in texts_of(entry, kind)]
    value = _whole(value)
    if not isinstance(value, str | int):
        reason = f"is no {kind}, but {type(value).__name__}; give a text or a whole number"
        raise ValueError(f"{str(value)[:80]!r} {reason}")
    text = " ".join(str(value).split())
    if not is_writable(text):
        raise ValueError(f"the {kind} {text[:40]!r} cannot be stored")
    return [text] if text else []


def split_of(value: object) -> str:
    """Return the split that a value names; empty if it is empty.

    Raises:
        ValueError: If it names none.
    """
    if value is None or value != value or value == "":
        return ""
    name = str(value).strip().lower()
    if match := SPLIT.fullmatch(name):
        return SPLIT_OF[match[1]]
    raise ValueError(f"{name[:40]!r} is no split; known: {', '.join(SPLIT_OF)}")


def split_in(path: Path) -> str:
    """Return the split that a file's name says, or else one of its folders; empty if none does."""
    for part in re.split(r"[^a-z]+", path.name.lower()):
        if part in SPLIT_OF:
            return SPLIT_OF[part]
    return split_of_folders(path)


def split_of_folders(path: Path) -> str:
    """Return the split that a folder of a path says; empty if none does."""
    return split_and_others(path.parent.parts)[0]
