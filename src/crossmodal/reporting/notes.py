"""What must be known to read the published numbers of a table, in words."""

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
