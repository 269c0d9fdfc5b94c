"""What must be known to read the numbers of a table, in words."""

from typing import Any

from crossmodal.config.experiment import Experiment
from crossmodal.reporting.rows import Row


def notes(rows: list[Row]) -> list[str]:
    """A paragraph with each note and its rows; nothing where there is no note.

    Args:
        rows: From `make_rows`; a row is named with its numbers if a note is not on all of them.
    """
    found: dict[str, list[str]] = {}
    for row in rows:
        said = {place: c.note for place, c in row.cells.items() if c.published is not None}
        for note in dict.fromkeys(filter(None, said.values())):
            places = [" ".join(place) for place in said if said[place] == note]
            where = "" if len(places) == len(said) else f" ({', '.join(places)})"
            found.setdefault(note, []).append(row.label + where)
    parts = (f"{note}: {', '.join(labels)}" for note, labels in found.items())
    return [f"On published numbers. {'; '.join(parts)}."] if found else []


def data_remarks(
    experiments: dict[str, Experiment], runs: dict[str, list[dict[str, Any]]]
) -> list[str]:
    """A sentence for each remark on the data that the runs learnt from, see `Writer.remark`.

    Args:
        experiments: The table's experiments by name.
        runs: Metrics of each experiment's seeds.
    """
    remarks = (
        f"`{experiments[name].dataset}` {remark}."
        for name, seeds in runs.items()
        for run in seeds
        for remark in run["model"].get("remarks", ())
    )
    return [*dict.fromkeys(remarks)]
