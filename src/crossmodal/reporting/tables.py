"""Tables as Markdown and as CSV."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Any

from crossmodal.config.published_numbers import Place
from crossmodal.config.table import Table
from crossmodal.learning.plateau import STEPS
from crossmodal.reporting.costs import MEMORY, TIME
from crossmodal.reporting.rows import Cell, Row

UNRANKED = {"positives", "negatives"}
LOWER_IS_BETTER = {"MedR", "MeanR", STEPS, TIME, MEMORY}
LINE = "*For reference, of no paper:*"  # between a table's rows and its reference rows
COLUMNS = [
    "table",
    "experiment",
    "row",
    "dataset",
    "direction",
    "metric",
    "published",
    "reproduced",
    "spread",
    "seeds",
    "difference",
]


def to_markdown(
    table: Table,
    rows: list[Row],
    remarks: Sequence[str] = (),
    figures: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The table as Markdown, one part per direction, and its figures.

    Args:
        table: What it shows.
        rows: From `make_rows`.
        remarks: Further paragraphs above the numbers.
        figures: From `Table.drawn`.
    """
    directions = list(dict.fromkeys(d for row in rows for d, _ in row.cells))
    parts = [f"## {table.title}", *([table.note.strip()] if table.note else [])]
    parts += remarks
    for direction in directions:
        shown = _rank(rows, direction, table.columns[0]) if table.ranked else rows
        parts.append(f"**{escape(direction)}**\n\n{_lines(shown, direction)}")
    parts += [f"![{said}](../figures/{file}.svg)" for file, said in figures.items()]
    return "\n\n".join(parts) + "\n"


def _rank(rows: list[Row], direction: str, metric: str) -> list[Row]:
    """Experiments, the best first; the other rows below, in their order."""
    sign = 1 if metric in LOWER_IS_BETTER else -1

    def place(row: Row) -> float:
        cell = row.cells.get((direction, metric))
        if not row.compared or cell is None or cell.reproduced is None:
            return math.inf
        return sign * cell.reproduced

    return sorted(rows, key=place)


def _lines(rows: list[Row], direction: str) -> str:
    """One direction; columns for published numbers only where there are any."""
    rows = [row for row in rows if any(d == direction for d, _ in row.cells)]
    metrics = list(dict.fromkeys(m for row in rows for d, m in row.cells if d == direction))
    known = [m for m in metrics if any(_published(row, direction, m) is not None for row in rows)]
    header = ["", "seeds"]
    for m in metrics:
        header += [f"{m} published", f"{m} reproduced", "difference"] if m in known else [m]
    lines = [header, ["---"] + ["---:"] * (len(header) - 1)]
    best = {m: _best(rows, (direction, m)) for m in metrics}
    first = next((row for row in rows if row.reference), None)
    for row in rows:
        if row is first:
            lines.append([LINE, *[""] * (len(header) - 1)])
        cells = {m: row.cells.get((direction, m), Cell(m, None, [])) for m in metrics}
        lines.append([row.label, row.seeds()])
        for m, cell in cells.items():
            shown = cell.show_reproduced()
            shown = f"**{shown}**" if row.experiment in best[m] else shown
            around = [cell.show(cell.published), shown, cell.show(cell.difference, "+")]
            lines[-1] += around if m in known else [shown]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _best(rows: list[Row], place: Place) -> set[str]:
    """Experiments that show the best number of their test, references aside; none where there is
    but one.
    """
    by_test: dict[tuple[str, ...], dict[str, float]] = {}
    for row in rows:
        cell = row.cells.get(place)
        if row.compared and cell and cell.reproduced is not None and place[1] not in UNRANKED:
            # what looks equal is equal
            shown = float(cell.show(cell.reproduced))
            by_test.setdefault(row.test, {})[row.experiment] = shown
    choose = min if place[1] in LOWER_IS_BETTER else max
    return {
        name
        for found in by_test.values()
        for name, shown in found.items()
        if len(found) > 1 and shown == choose(found.values())
    }


def _published(row: Row, direction: str, metric: str) -> float | None:
    cell = row.cells.get((direction, metric))
    return cell.published if cell else None


def to_csv(name: str, rows: list[Row]) -> list[list[Any]]:
    """The table as rows of CSV with `COLUMNS`, one number per line; empty where there is none."""
    return [
        [
            name,
            row.experiment,
            row.label,
            row.dataset,
            direction,
            metric,
            *("" if v is None else v for v in (cell.published, cell.reproduced, cell.spread)),
            len(cell.values),
            "" if cell.difference is None else cell.difference,
        ]
        for row in rows
        for (direction, metric), cell in row.cells.items()
    ]
