"""Rows of tables: published next to reproduced numbers, from the metrics of runs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from math import isfinite
from statistics import mean, stdev
from types import MappingProxyType

from crossmodal.config.experiment import Experiment
from crossmodal.config.external_numbers import external_numbers
from crossmodal.config.published_numbers import (
    STARTS,
    Number,
    Place,
    Published,
    published_numbers,
)
from crossmodal.config.table import Table
from crossmodal.learning.plateau import LEFT, STEPS
from crossmodal.reporting.costs import COSTS, MEMORY, TIME, costs
from crossmodal.reporting.estimates import Estimate
from crossmodal.reporting.item_draws import Draws
from crossmodal.reporting.run_metrics import Directions, RunMetrics, Runs
from crossmodal.reporting.starts import OUTCOMES, RSUM, outcome

DECIMALS = {
    "mAP": 3,
    "R-precision": 3,
    "nDCG": 3,
    "MRR": 3,
    "R@": 1,
    "rsum": 1,
    "MedR": 1,
    "MeanR": 1,
}
DECIMALS |= {STARTS: 1, "positives": 3, "negatives": 3, STEPS: 0, LEFT: 0, RSUM: 1}
DECIMALS |= {TIME: 1, MEMORY: 0}
CONTROLS = ("random", "constant", "perfect")


def with_decimals(metric: str, value: float, sign: str = "") -> str:
    """Return a value with the decimals of its metric.

    Args:
        metric: 'mAP', 'R@10' ...
        value: The value.
        sign: '+' shows the sign of positive values, too.
    """
    return f"{value:{sign}.{decimals_of(metric)}f}"


def decimals_of(metric: str) -> int:
    """Return the number of decimals that tables show of a metric."""
    return next(d for prefix, d in DECIMALS.items() if metric.startswith(prefix))


@dataclass(frozen=True)
class Cell:
    """One number of a table: what was published, what was reproduced, or neither.

    Args:
        metric: 'mAP', 'R@10' ...
        published: As printed in the paper.
        values: One per seed; empty if it was not run.
        note: On the published number.
        estimate: The same values by seed, with their errors over test items.
    """

    metric: str
    published: float | None
    values: list[float]
    note: str = ""
    estimate: Estimate = field(default=Estimate({}), compare=False)

    @property
    def reproduced(self) -> float | None:
        """Mean over the seeds."""
        return mean(self.values) if self.values else None

    @property
    def spread(self) -> float | None:
        """Sample standard deviation over the seeds; None of ranks without end."""
        several = len(self.values) > 1 and all(map(isfinite, self.values))
        return stdev(self.values) if several else None

    @property
    def difference(self) -> float | None:
        """Reproduced minus published."""
        if self.published is None or self.reproduced is None:
            return None
        return self.reproduced - self.published

    def show(self, value: float | None, sign: str = "") -> str:
        """Return a value with the metric's decimals; nothing if there is none."""
        return "" if value is None else with_decimals(self.metric, value, sign)

    @property
    def error(self) -> float | None:
        """Standard error over test items."""
        return self.estimate.error

    def show_reproduced(self) -> str:
        """Return the mean, the spread over seeds, and the error over test items in parentheses."""
        spread = "" if self.spread is None else f" ± {self.show(self.spread)}"
        error = "" if self.error is None else f" ({self.show(self.error)})"
        return self.show(self.reproduced) + spread + error


@dataclass(frozen=True)
class Row:
    """One line of a table: an experiment, a citation or a control.

    Args:
        experiment: Its name; empty if it is none.
        label: What the line is called.
        dataset: What it is on.
        cells: Its numbers.
        deterministic: Whether the seed makes no difference.
        test: What tells its test from others on the dataset: numbers of the same test compare.
    """

    experiment: str
    label: str
    dataset: str
    cells: dict[Place, Cell]
    deterministic: bool = False
    test: tuple[str, ...] = ()

    @property
    def compared(self) -> bool:
        """True if it takes part in ranks: no citation or control does."""
        return bool(self.experiment)

    def seeds(self) -> str:
        """Return the number of seeds of an experiment; nothing of what was not run."""
        number = max(len(cell.values) for cell in self.cells.values())
        note = " (deterministic)" if self.deterministic else ""
        return f"{number}{note}" if self.experiment and number else ""


def make_rows(
    table: Table,
    experiments: dict[str, Experiment],
    runs: Runs,
    deterministic: Collection[str] = (),
    draws: Mapping[str, dict[int, Draws]] = MappingProxyType({}),
) -> list[Row]:
    """Return the rows of a table: experiments, citations, controls, and systems of today.

    Args:
        table: What the table shows.
        experiments: The table's experiments by name.
        runs: Metrics of each experiment's seeds, from `evaluate` or `evaluate_intra_modal`; an
            experiment without any has empty cells.
        deterministic: Experiments whose seed makes no difference.
        draws: Bootstrap draws by experiment and seed, in the order of its runs, where all its runs
            have some.
    """
    rows: list[Row] = []
    controls: dict[tuple[str, ...], list[RunMetrics]] = {}
    for name in table.experiments:
        spec = experiments[name]
        if name not in runs:
            rows.append(Row(name, spec.row(), spec.dataset, {}))
            continue
        results = [metrics_of(run, table.metrics) for run in runs[name]]
        published = _comparable(spec.published, set(results[0]))
        cells = _cells(table, published, results)
        for place, cell in cells.items():
            estimate = _estimate(cell, place, draws.get(name, {}), name in deterministic)
            cells[place] = replace(cell, estimate=estimate)
        each_way = [m for direction, m in results[0].items() if "-to-" in direction]
        sizes = " and ".join(f"{m['queries']:,.0f} × {m['gallery']:,.0f}" for m in each_way)
        modalities = " and ".join([*spec.views][:2])
        protocol = (spec.dataset, f"by {spec.relevance}", modalities, sizes)
        controls.setdefault(protocol, runs[name])
        test = (*protocol, *(sorted(spec.changes.classes) if spec.changes else ()))
        rows.append(Row(name, spec.row(), spec.dataset, cells, name in deterministic, test))
    rows = [row if row.cells else _empty(row, rows, experiments) for row in rows]
    cited = table.cited.rows() if table.cited else {}
    rows += [_cite(table, *row) for row in cited.items()]
    return [*rows, *_bounds(table, controls), *_external(table)]


def _estimate(
    cell: Cell, place: Place, draws: Mapping[int, Draws], deterministic: bool
) -> Estimate:
    """Return the number of a cell with its errors."""
    seeds = [*draws] or range(len(cell.values))
    by_seed = dict(zip(seeds, cell.values, strict=True))
    drawn = {seed: own[place] for seed, own in draws.items() if place in own}
    return Estimate(by_seed, drawn, deterministic)


def _bounds(table: Table, controls: dict[tuple[str, ...], list[RunMetrics]]) -> Iterator[Row]:
    """Yield rows of the controls of each protocol, named by what tells them apart."""
    differ = [len(set(parts)) > 1 for parts in zip(*controls, strict=True)]
    for protocol, runs in controls.items():
        for scorer in CONTROLS:
            label = ", ".join([f"{scorer} scores", *compress(protocol, differ)])
            cells = _cells(table, {}, [run["controls"][scorer] for run in runs])
            yield Row("", f"({label})", protocol[0], cells)


def _external(table: Table) -> Iterator[Row]:
    """Yield rows of systems that others measured, in parentheses as all that is not compared."""
    for system, numbers in external_numbers().get(table.external or "", {}).items():
        cells = {
            (direction, metric): Cell(metric, number.value, [], number.note)
            for (direction, metric), number in numbers.items()
            if metric in table.columns
        }
        if cells:
            yield Row("", f"(today: {system})", table.external or "", cells)


def _empty(row: Row, rows: list[Row], experiments: dict[str, Experiment]) -> Row:
    """Return a row that was not run, with the cells of another one of the same modalities."""
    views, source = [*experiments[row.experiment].views][:2], experiments[row.experiment].published
    alike = (r.cells for r in rows if r.cells and [*experiments[r.experiment].views][:2] == views)
    cells = next(alike, {})
    published = _comparable(source, {direction for direction, _ in cells})
    numbers = {place: published.get(place, (None, "")) for place in cells}
    return replace(
        row, cells={k: Cell(k[1], value, [], note) for k, (value, note) in numbers.items()}
    )


def _comparable(source: Published | None, directions: set[str]) -> dict[Place, Number]:
    """Return published numbers; none if they are of other directions, which do not compare."""
    published = _published_cells(source) if source else {}
    other = {direction for direction, _ in published if "-to-" in direction} - directions
    return {} if other else published


def _published_cells(source: Published) -> dict[Place, Number]:
    """Return published numbers; a mAP without a direction stands by the average of both."""
    return {
        (
            "average" if direction == "both" and metric.startswith("mAP") else direction,
            metric,
        ): number
        for (direction, metric), number in published_numbers(source).items()
    }


def _cite(table: Table, label: str, source: Published) -> Row:
    """Return a published row without a reproduced one."""
    cells: dict[Place, Cell] = {
        (direction, metric): Cell(metric, number.value, [], number.note)
        for (direction, metric), number in _published_cells(source).items()
        if metric in table.metrics
    }
    return Row("", label, source.dataset, cells)


def metrics_of(run: RunMetrics, wanted: Sequence[str]) -> Directions:
    """Return the metrics of the test split by direction; those without one are under `both`.

    Args:
        run: From `evaluate` or `evaluate_intra_modal`.
        wanted: Metrics; those of the training are added if they are among these.
    """
    metrics = {direction: dict(values) for direction, values in run["test"].items()}
    metrics.setdefault("both", {})
    if not OUTCOMES.isdisjoint(wanted):
        metrics["both"] |= outcome(run)
    if not COSTS.isdisjoint(wanted):
        for direction, values in costs(run).items():
            metrics[direction] |= values
    return metrics


def _cells(
    table: Table, published: dict[Place, Number], results: list[Directions]
) -> dict[Place, Cell]:
    """Return cells of the metrics a table shows, for every direction that has them."""
    # each direction first, what belongs to both after them
    directions = sorted(results[0], key=lambda d: "-to-" not in d)
    cells = {}
    for place in ((d, m) for d in directions for m in table.columns if m in results[0][d]):
        direction, metric = place
        value, note = published.get(place, (None, ""))
        cells[place] = Cell(metric, value, [r[direction][metric] for r in results], note)
    return cells
