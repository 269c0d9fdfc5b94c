"""Tables as Markdown and as CSV."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType

from crossmodal.config.published_numbers import Place
from crossmodal.config.table import Table, metric_of
from crossmodal.learning.plateau import STEPS
from crossmodal.reporting.costs import MEMORY, TIME
from crossmodal.reporting.estimates import comparable, difference, holm
from crossmodal.reporting.rows import Cell, Row

UNRANKED = {"positives", "negatives"}
LOWER_IS_BETTER = {"MedR", "MeanR", STEPS, TIME, MEMORY}
LEGEND = (
    "±: standard deviation over seeds; in parentheses: standard error over test items. Bold: not "
    "told apart from the best of its column by a paired bootstrap over test items, at 95 %, "
    "Holm-corrected; where one of both has no such error, as of MedR, the best alone, untested."
)
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
    "error",
    "seeds",
    "difference",
]


def to_markdown(
    table: Table,
    rows: list[Row],
    remarks: Sequence[str] = (),
    figures: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the table as Markdown, one part per direction, and its figures.

    Args:
        table: What it shows.
        rows: From `make_rows`.
        remarks: Further paragraphs above the numbers.
        figures: From `Table.drawn`.
    """
    parts = [f"## {table.title}", *([table.note.strip()] if table.note else [])]
    parts += remarks
    if any(cell.estimate.draws for row in rows for cell in row.cells.values()):
        parts.append(LEGEND)
    for direction, lines in grids(table, rows).items():
        rule = ["---"] + ["---:"] * (len(lines[0]) - 1)
        body = "\n".join(map(_line, [lines[0], rule, *lines[1:]]))
        parts.append(f"**{escape(direction)}**\n\n{body}")
    parts += [f"![{caption}](../figures/{file}.svg)" for file, caption in figures.items()]
    return "\n\n".join(parts) + "\n"


def _line(cells: Sequence[str]) -> str:
    """Return a line of Markdown, in which a bar or a line's end in a label separates nothing."""
    return "| " + " | ".join(" ".join(cell.split()).replace("|", r"\|") for cell in cells) + " |"


def grids(table: Table, rows: list[Row]) -> dict[str, list[list[str]]]:
    """Return the cells of each direction, its header first, as Markdown.

    Args:
        table: What it shows.
        rows: From `make_rows`.
    """
    directions = dict.fromkeys(d for row in rows for d, _ in row.cells)
    ranked = {d: _rank(rows, d, table.columns[0]) if table.ranked else rows for d in directions}
    return {direction: _lines(own, direction) for direction, own in ranked.items()}


def _rank(rows: list[Row], direction: str, metric: str) -> list[Row]:
    """Experiments, the best first; the other rows below, in their order."""
    sign = 1 if metric_of(metric) in LOWER_IS_BETTER else -1

    def place(row: Row) -> float:
        cell = row.cells.get((direction, metric))
        if not row.compared or cell is None or cell.reproduced is None:
            return math.inf
        return sign * cell.reproduced

    return sorted(rows, key=place)


def _lines(rows: list[Row], direction: str) -> list[list[str]]:
    """Return one direction; columns for published numbers only where there are any."""
    rows = [row for row in rows if any(d == direction for d, _ in row.cells)]
    own = [(m, cell) for row in rows for (d, m), cell in row.cells.items() if d == direction]
    metrics = list(dict.fromkeys(m for m, _ in own))
    cited = {m for m, cell in own if cell.published is not None}
    header = ["", "seeds"]
    for m in metrics:
        header += [f"{m} published", f"{m} reproduced", "difference"] if m in cited else [m]
    lines = [header]
    bold = {m: best(rows, (direction, m)) for m in metrics}
    for row in rows:
        cells = {m: row.cells.get((direction, m), Cell(m, None, [])) for m in metrics}
        lines.append([row.label, row.seeds()])
        for m, cell in cells.items():
            text = cell.show_reproduced()
            text = f"**{text}**" if row.experiment in bold[m] else text
            around = [cell.show(cell.published), text, cell.show(cell.difference, "+")]
            lines[-1] += around if m in cited else [text]
    return lines


def best(rows: list[Row], place: Place) -> set[str]:
    """Return the experiments whose number nothing tells from the best one of their test.

    It is told apart by a paired bootstrap over test items, Holm-corrected within the column; where
    values per query are missing, by looking different. A number that is alone does not
    count.

    Args:
        rows: From `make_rows`.
        place: Direction and metric of the column.
    """
    by_test: dict[tuple[str, ...], dict[str, Cell]] = {}
    for row in rows:
        cell = row.cells.get(place)
        if row.compared and cell and cell.reproduced is not None and place[1] not in UNRANKED:
            by_test.setdefault(row.test, {})[row.experiment] = cell
    lower = metric_of(place[1]) in LOWER_IS_BETTER
    columns = (cells for cells in by_test.values() if len(cells) > 1)
    return {name for cells in columns for name in _untold(cells, lower)}


def _untold(cells: dict[str, Cell], lower: bool) -> set[str]:
    """Return the best number of a column, and those that are not told from it."""
    values = {name: c.reproduced for name, c in cells.items() if c.reproduced is not None}
    first = (min if lower else max)(values, key=values.__getitem__)
    differences = {
        name: difference(cells[first].estimate, cell.estimate)
        for name, cell in cells.items()
        if name != first and comparable(cells[first].estimate, cell.estimate)
    }
    worse = holm({n: d.p for n, d in differences.items() if (d.value < 0) == lower})
    texts = {name: cell.show(cell.reproduced) for name, cell in cells.items()}
    untested = {n for n in cells if n not in differences and texts[n] != texts[first]}
    return {*cells} - worse - untested


def to_csv(name: str, rows: list[Row]) -> list[list[object]]:
    """Return the table as rows of CSV with `COLUMNS`, a number per line, empty if missing."""
    return [
        [
            name,
            row.experiment,
            row.label,
            row.dataset,
            direction,
            metric,
            *(
                "" if v is None else v
                for v in (cell.published, cell.reproduced, cell.spread, cell.error)
            ),
            len(cell.values),
            "" if cell.difference is None else cell.difference,
        ]
        for row in rows
        for (direction, metric), cell in row.cells.items()
    ]
