"""The published numbers: the project's own copy of every results table of the four papers."""

import csv
import functools
from importlib.resources import files
from typing import NamedTuple

from crossmodal.errors import CrossmodalError
from crossmodal.plugin import Strict

Key = tuple[str, ...]  # paper, table, dataset, method, variant
Place = tuple[str, str]  # direction, metric
STARTS = "successful starts of 5"  # a metric of retrieval.csv


class Published(Strict):
    """A published row: columns of published/retrieval.csv."""

    paper: str
    table: str
    dataset: str
    method: str
    variant: str = ""


class Number(NamedTuple):
    """A published number, with a note for its reader or an empty one."""

    value: float
    note: str


@functools.cache
def _rows() -> dict[Key, dict[Place, Number]]:
    """Return the numbers by key, then by place."""
    rows: dict[Key, dict[Place, Number]] = {}
    text = (files("crossmodal") / "published" / "retrieval.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        if row["value"]:
            key = tuple(row[c] for c in ("paper", "table", "dataset", "method", "variant"))
            number = Number(float(row["value"]), row["note"])
            rows.setdefault(key, {})[row["direction"], row["metric"]] = number
    return rows


def papers() -> list[str]:
    """Return the names of the papers."""
    return list(dict.fromkeys(key[0] for key in _rows()))


def published_numbers(source: Published) -> dict[Place, Number]:
    """Return the published numbers of one row of one table, by (direction, metric).

    Raises:
        CrossmodalError: If no such row was published; the message lists what there is.
    """
    key = (source.paper, source.table, source.dataset, source.method, source.variant)
    if key not in _rows():
        raise CrossmodalError(_first_unknown(key))
    return _rows()[key]


def _first_unknown(key: Key) -> str:
    """Return a message on the first part of a key that is unknown, and what there is."""
    lengths = range(1, len(key) + 1)
    length = next(n for n in lengths if all(k[:n] != key[:n] for k in _rows()))
    start, value = key[: length - 1], key[length - 1]
    values = dict.fromkeys(k[length - 1] for k in _rows() if k[: length - 1] == start)
    return (
        f"no row {' / '.join(key)} in published/retrieval.csv: {value!r} is unknown; "
        f"there are: {', '.join(map(repr, values))}"
    )
