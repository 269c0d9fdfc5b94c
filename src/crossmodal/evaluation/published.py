"""The published numbers: the project's own copy of every results table of the four papers."""

import csv
import functools
from importlib.resources import files

from pydantic import BaseModel

from crossmodal.errors import CrossmodalError
from crossmodal.plugins import STRICT

Key = tuple[str, str, str, str, str]


class Published(BaseModel):
    """Which published row stands next to a reproduced one: columns of published/retrieval.csv."""

    model_config = STRICT

    paper: str
    table: str
    dataset: str
    method: str
    variant: str = ""


@functools.cache
def _rows() -> dict[Key, dict[tuple[str, str], float]]:
    """Values by (paper, table, dataset, method, variant), then by (direction, metric)."""
    found: dict[Key, dict[tuple[str, str], float]] = {}
    text = (files("crossmodal") / "published" / "retrieval.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        if row["value"]:
            key = tuple(row[c] for c in ("paper", "table", "dataset", "method", "variant"))
            found.setdefault(key, {})[row["direction"], row["metric"]] = float(row["value"])
    return found


def published_values(source: Published) -> dict[tuple[str, str], float]:
    """Published values of one row of one table, by (direction, metric).

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
