"""Numbers of systems of today, as others measured them: published/external.csv."""

import csv
import functools
from importlib.resources import files

from crossmodal.config.published_numbers import Number, Place

Numbers = dict[Place, Number]


@functools.cache
def external_numbers() -> dict[str, dict[str, Numbers]]:
    """Return the numbers by dataset, system, direction and metric; a note has their address."""
    numbers: dict[str, dict[str, Numbers]] = {}
    text = (files("crossmodal") / "published" / "external.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        note = ", ".join(filter(None, [row["note"], row["source"]]))
        own = numbers.setdefault(row["dataset"], {}).setdefault(row["system"], {})
        own[row["direction"], row["metric"]] = Number(float(row["value"]), note)
    return numbers
