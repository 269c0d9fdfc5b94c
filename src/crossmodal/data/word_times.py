"""Times of the words of spoken captions: a CSV of caption, word, start and end in seconds.

A forced aligner or a synthesiser gives it. The words of a caption are in the order of speech.
"""

import csv
import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from crossmodal.errors import CrossmodalError
from crossmodal.io.spreadsheets import Findings, Row, read_rows

COLUMNS = ("caption", "word", "start", "end")
MEMBER = "words.csv"  # of media.zip, where a dataset has the times


class SpokenWord(NamedTuple):
    """A word, from start to end in seconds."""

    text: str
    start: float
    end: float


Times = dict[str, list[SpokenWord]]  # words of each caption id


def read_file(path: Path) -> Times:
    """Read the user's own CSV, also as a spreadsheet saves it.

    Raises:
        CrossmodalError: With all rows that lack a word, or whose times are no numbers from 0, the
            end after the start and the start not before that of the caption's last word.
    """
    times: Times = {}
    findings = Findings()
    for row in read_rows(path, COLUMNS):
        with findings.collect():
            words = times.setdefault(row["caption"], [])
            words.append(_word(row, words[-1].start if words else 0.0))
    findings.report()
    if not times:
        raise CrossmodalError(f"{path}: has no word; give {', '.join(COLUMNS)} in each row")
    return times


def _word(row: Row, earliest: float) -> SpokenWord:
    """Return the word of a row, which may not begin before `earliest`."""
    if not row["word"]:
        raise row.error("word", "is empty; leave the row out")
    start, end = (_seconds(row, column) for column in ("start", "end"))
    if start < earliest:
        raise row.error("start", f"{start:g} is before {earliest:g}, where the last word starts")
    if end <= start:
        raise row.error("end", f"{end:g} is not after the start, {start:g}")
    return SpokenWord(row["word"].lower(), start, end)


def _seconds(row: Row, column: str) -> float:
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise row.error(column, f"{row[column]!r} is no number of seconds")
    return value


def to_bytes(times: Times) -> bytes:
    """Return the CSV of a prepared dataset's words."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for caption, words in times.items():
        writer.writerows([caption, w.text, f"{w.start:.3f}", f"{w.end:.3f}"] for w in words)
    return text.getvalue().encode()


def from_bytes(content: bytes) -> Times:
    """Read what `to_bytes` returned.

    Raises:
        ValueError: If it is something else.
    """
    times: Times = {}
    header, *rows = csv.reader(io.StringIO(content.decode(), newline=""))
    if header != [*COLUMNS]:
        raise ValueError(f"columns {header}")
    for caption, word, start, end in rows:
        times.setdefault(caption, []).append(SpokenWord(word, float(start), float(end)))
    return times


def is_ordered(words: Iterable[SpokenWord]) -> bool:
    """Return whether the words of a caption follow each other, and each takes time."""
    last = 0.0
    for word in words:
        if not (last <= word.start < word.end):
            return False
        last = word.start
    return True
