"""Notes on the numbers of a table, in words."""

from crossmodal.config.experiment import Experiment
from crossmodal.reporting.rows import Row
from crossmodal.reporting.run_metrics import Runs


def notes(rows: list[Row]) -> list[str]:
    """Return a paragraph with each note and its rows; nothing where there is no note.

    Args:
        rows: From `make_rows`; a row is named with its numbers if a note is not on all of them.
    """
    labels: dict[str, list[str]] = {}
    for row in rows:
        texts = {place: c.note for place, c in row.cells.items() if c.published is not None}
        for note in dict.fromkeys(filter(None, texts.values())):
            places = [" ".join(place) for place in texts if texts[place] == note]
            where = "" if len(places) == len(texts) else f" ({', '.join(places)})"
            labels.setdefault(note, []).append(row.label + where)
    parts = (f"{note}: {', '.join(rows_of)}" for note, rows_of in labels.items())
    return [f"Notes on published numbers: {'; '.join(parts)}."] if labels else []


def data_remarks(experiments: dict[str, Experiment], runs: Runs) -> list[str]:
    """Return a sentence for each remark on the data that the runs learnt from, see `Writer.remark`.

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
