"""Points of a figure: a metric against an option of experiments, or against their training."""

from collections.abc import Iterator
from statistics import mean, stdev
from typing import NamedTuple

from crossmodal.config.experiment import Experiment
from crossmodal.config.table import Figure
from crossmodal.errors import CrossmodalError
from crossmodal.reporting.costs import COSTS
from crossmodal.reporting.curves import SPREAD
from crossmodal.reporting.rows import metrics_of
from crossmodal.reporting.run_metrics import RunMetrics, Runs


class Point(NamedTuple):
    """A point of a figure.

    Attributes:
        line: Name of its line.
        x: Option, or place in the training.
        y: Metric, a mean over the seeds.
        spread: Standard deviation over the seeds; empty where there is one.
        seeds: Their number; empty in the course of a training.
    """

    line: str
    x: float
    y: float
    spread: float | str
    seeds: int | str = ""


def option_points(
    figure: Figure, experiments: dict[str, Experiment], runs: Runs
) -> Iterator[Point]:
    """Yield a point per experiment.

    Args:
        figure: What is drawn; experiments that differ in x, or in facts, alone share a line.
        experiments: The figure's experiments by name.
        runs: Metrics of each experiment's seeds, as `evaluate` wrote them.
    """
    for name in figure.experiments:
        values = [_value(run, figure) for run in runs[name]]
        spread = stdev(values) if len(values) > 1 else ""
        facts, options = experiments[name].facts, runs[name][0]["model"]["options"]
        numbers = {k: v for k, v in options.items() if isinstance(v, int | float)} | facts
        row = experiments[name].row(figure.x)
        yield Point(row, numbers[figure.x], mean(values), spread, len(values))


def step_points(
    figure: Figure, experiments: dict[str, Experiment], curves: dict[str, list[dict[str, str]]]
) -> Iterator[Point]:
    """Yield a point per experiment and logged y of its training.

    Args:
        figure: What is drawn; each experiment is a line.
        experiments: The figure's experiments by name.
        curves: Learning curve of each experiment, rows of `curves.LEARNING`.
    """
    column = f"{figure.y} {figure.direction}" if figure.direction else figure.y
    for name in figure.experiments:
        for row in curves[name]:
            if row.get(column):
                x = float(row[figure.x])
                spread = row.get(SPREAD + column, "")
                yield Point(experiments[name].row(), x, float(row[column]), spread)


def _value(run: RunMetrics, figure: Figure) -> float:
    """Return one number of a run: of the figure's direction, of both, or their mean or sum.

    Raises:
        CrossmodalError: If the figure has a direction, of which alone nothing is known.
    """
    directions, metric = metrics_of(run, [figure.y]), figure.y
    for part in (figure.direction,) if figure.direction else ("average", "both"):
        if metric in directions.get(part, {}):
            return directions[part][metric]
    if figure.direction:
        raise CrossmodalError(
            f"params.yaml: figures: {figure.title!r}: {metric} of {figure.direction} alone is not "
            "known; leave `direction` out"
        )
    values = [metrics[metric] for d, metrics in directions.items() if "-to-" in d]
    return sum(values) if metric in COSTS else mean(values)
