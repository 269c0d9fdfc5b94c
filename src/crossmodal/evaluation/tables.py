"""Tables of published next to reproduced numbers, from the metrics of runs."""

import math
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from crossmodal.evaluation.costs import COSTS, MEMORY, TIME, costs
from crossmodal.evaluation.published import Published, published_values
from crossmodal.evaluation.starts import STARTS, outcome
from crossmodal.schema import Experiment, Table

DECIMALS = {"mAP": 3, "R@": 1, "rsum": 1, "MedR": 1, "MeanR": 1}
DECIMALS |= {STARTS: 1, "positives": 3, "negatives": 3}
DECIMALS |= {TIME: 1, MEMORY: 0}
LOWER_IS_BETTER = {"MedR", "MeanR", TIME, MEMORY}
CONTROLS = ("random", "constant", "perfect")
FIGURES = {"learning": "Learning curves", "precision_scope": "Precision-scope curves"}
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


@dataclass(frozen=True)
class Cell:
    """One number of a table: what was published, what was reproduced, or neither.

    Args:
        metric: 'mAP', 'R@10' ...
        published: As printed in the paper.
        values: One per seed; empty if it was not run.
    """

    metric: str
    published: float | None
    values: list[float]

    @property
    def reproduced(self) -> float | None:
        """Mean over the seeds."""
        return mean(self.values) if self.values else None

    @property
    def spread(self) -> float | None:
        """Sample standard deviation over the seeds."""
        return stdev(self.values) if len(self.values) > 1 else None

    @property
    def difference(self) -> float | None:
        """Reproduced minus published."""
        if self.published is None or self.reproduced is None:
            return None
        return self.reproduced - self.published

    def show(self, value: float | None, sign: str = "") -> str:
        """A value with the metric's decimals; nothing if there is none."""
        digits = next(d for prefix, d in DECIMALS.items() if self.metric.startswith(prefix))
        return "" if value is None else f"{value:{sign}.{digits}f}"

    def show_reproduced(self) -> str:
        """Mean and spread."""
        spread = "" if self.spread is None else f" ± {self.show(self.spread)}"
        return self.show(self.reproduced) + spread


@dataclass(frozen=True)
class Row:
    """One line of a table: an experiment, a citation or a control."""

    experiment: str
    label: str
    dataset: str
    cells: dict[tuple[str, str], Cell]  # by (direction, metric)


def make_rows(
    table: Table, experiments: dict[str, Experiment], runs: dict[str, list[dict[str, Any]]]
) -> list[Row]:
    """Rows of a table: its experiments, what is only cited, then the controls of each dataset and
    protocol.

    Args:
        table: What the table shows.
        experiments: The table's experiments by name.
        runs: Metrics of each experiment's seeds, as `evaluate` or `within` wrote them.
    """
    rows, controls = [], {}
    for name in table.experiments:
        spec = experiments[name]
        results = [metrics_of(run, table.metrics) for run in runs[name]]
        published = _comparable(spec.published, set(results[0]))
        rows.append(Row(name, spec.row(), spec.dataset, _cells(table, published, results)))
        sizes = [(d, m["queries"], m["gallery"]) for d, m in results[0].items() if "-to-" in d]
        for scorer in CONTROLS:
            found = [run["controls"][scorer] for run in runs[name]]
            key = (spec.dataset, spec.labels, *sizes, scorer)
            controls.setdefault(
                key, Row("", f"({scorer} scores)", spec.dataset, _cells(table, {}, found))
            )
    return rows + [_cite(table, *row) for row in table.cited.items()] + list(controls.values())


def _comparable(source: Published | None, directions: set[str]) -> dict[tuple[str, str], float]:
    """Published numbers; none if they are of other directions, whose average is another number."""
    published = published_values(source) if source else {}
    other = {direction for direction, _ in published if "-to-" in direction} - directions
    return {} if other else published


def _cite(table: Table, label: str, source: Published) -> Row:
    """A published row without a reproduced one."""
    cells = {
        (direction, metric): Cell(metric, value, [])
        for (direction, metric), value in published_values(source).items()
        if metric in table.metrics
    }
    return Row("", label, source.dataset, cells)


def metrics_of(run: dict[str, Any], wanted: list[str]) -> dict[str, dict[str, float]]:
    """Metrics of a run on the test split by direction; what it has but once is under `both`.

    Args:
        run: As `evaluate` or `within` wrote it.
        wanted: Metrics; those of a whole run are added if they are among these.
    """
    both: dict[str, float] = {}
    if STARTS in wanted:
        both |= outcome(run)
    if not COSTS.isdisjoint(wanted):
        both |= costs(run)
    return run["test"] | {"both": run["test"].get("both", {}) | both}


def _cells(
    table: Table, published: dict[tuple[str, str], float], results: list[dict[str, Any]]
) -> dict[tuple[str, str], Cell]:
    """Cells of the metrics a table shows, for every direction that has them."""
    # each direction first, what belongs to both after them
    directions = sorted(results[0], key=lambda d: "-to-" not in d)
    return {
        (direction, metric): Cell(
            metric, published.get((direction, metric)), [r[direction][metric] for r in results]
        )
        for direction in directions
        for metric in table.metrics
        if metric in results[0][direction]
    }


def to_markdown(name: str, table: Table, rows: list[Row]) -> str:
    """The table as Markdown, one part per direction, and its figures."""
    directions = list(dict.fromkeys(d for row in rows for d, _ in row.cells))
    parts = [f"## {table.title}", *([table.note.strip()] if table.note else [])]
    for direction in directions:
        shown = _rank(rows, direction, table.metrics[0]) if table.ranked else rows
        parts.append(f"**{direction}**\n\n{_lines(shown, direction)}")
    parts += [f"![{title}](../figures/{name}/{file}.svg)" for file, title in FIGURES.items()]
    parts += [f"![{figure}](../figures/{figure}.svg)" for figure in table.figures]
    parts += [f"![Map](../figures/{name}/map.svg)"] if table.map else []
    parts += [f"![Margins, {e}](../figures/margins/{e}.svg)" for e in table.margins]
    parts += [f"![Similarities, {e}](../figures/similarity/{e}.svg)" for e in table.similarity]
    return "\n\n".join(parts) + "\n"


def _rank(rows: list[Row], direction: str, metric: str) -> list[Row]:
    """Experiments, the best first; the others below as they stand."""
    sign = 1 if metric in LOWER_IS_BETTER else -1

    def place(row: Row) -> float:
        cell = row.cells.get((direction, metric))
        if not row.experiment or cell is None or cell.reproduced is None:
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
    for row in rows:
        cells = {m: row.cells.get((direction, m), Cell(m, None, [])) for m in metrics}
        seeds = str(max(len(cell.values) for cell in cells.values()))
        lines.append([row.label, seeds if row.experiment else ""])
        for m, cell in cells.items():
            shown = cell.show_reproduced()
            around = [cell.show(cell.published), shown, cell.show(cell.difference, "+")]
            lines[-1] += around if m in known else [shown]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


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
