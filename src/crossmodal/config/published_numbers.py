"""The published numbers: the project's own copy of every results table of the four papers."""

import csv
import functools
from importlib.resources import files
from typing import NamedTuple

from crossmodal.errors import CrossmodalError
from crossmodal.plugin import Strict

Key = tuple[str, str, str, str, str]
Place = tuple[str, str]  # direction, metric


class Published(Strict):
    """Which published row stands next to a reproduced one: columns of published/retrieval.csv."""

    paper: str
    table: str
    dataset: str
    method: str
    variant: str = ""


class Number(NamedTuple):
    """A published number, and what must be known to read it, or nothing."""

    value: float
    note: str


@functools.cache
def _rows() -> dict[Key, dict[Place, Number]]:
    """Numbers by (paper, table, dataset, method, variant), then by place."""
    found: dict[Key, dict[Place, Number]] = {}
    text = (files("crossmodal") / "published" / "retrieval.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        if row["value"]:
            key = tuple(row[c] for c in ("paper", "table", "dataset", "method", "variant"))
            number = Number(float(row["value"]), row["note"])
            found.setdefault(key, {})[row["direction"], row["metric"]] = number
    return found


def papers() -> list[str]:
    """Names of the papers."""
    return list(dict.fromkeys(key[0] for key in _rows()))


def published_numbers(source: Published) -> dict[Place, Number]:
    """Published numbers of one row of one table, by (direction, metric).

    Raises:
        CrossmodalError: If no such row was published; the message lists what there is.
    """
    key = (source.paper, source.table, source.dataset, source.method, source.variant)
    for depth, value in enumerate(key):
        known = dict.fromkeys(k[depth] for k in _rows() if k[:depth] == key[:depth])
        if value not in known:
            raise CrossmodalError(
                f"no row {' / '.join(key)} in published/retrieval.csv: {value!r} is unknown; "
                f"there are: {', '.join(map(repr, known))}"
            )
    return _rows()[key]
