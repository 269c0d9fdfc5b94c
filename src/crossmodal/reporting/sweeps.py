"""Points of a figure: a metric against an option of experiments, or against their training."""

from collections.abc import Iterator
from statistics import mean, stdev
from typing import Any

from crossmodal.config.experiment import Experiment
from crossmodal.config.table import Figure
from crossmodal.errors import CrossmodalError
from crossmodal.reporting.costs import COSTS
from crossmodal.reporting.curves import SPREAD
from crossmodal.reporting.rows import metrics_of

POINTS = ["line", "x", "y", "spread", "seeds"]


def option_points(
    figure: Figure, experiments: dict[str, Experiment], runs: dict[str, list[dict[str, Any]]]
) -> Iterator[list[Any]]:
    """Rows of `POINTS`, one per experiment; the spread over seeds is empty where there is one.

    Args:
        figure: What is drawn; experiments that differ in x, or in facts, alone share a line.
        experiments: The figure's experiments by name.
        runs: Metrics of each experiment's seeds, as `evaluate` wrote them.
    """
    for name in figure.experiments:
        values = [_value(run, figure) for run in runs[name]]
        spread = stdev(values) if len(values) > 1 else ""
        facts, options = experiments[name].facts, runs[name][0]["model"]["options"]
        x = facts[figure.x] if figure.x in facts else options[figure.x]
        yield [experiments[name].row(figure.x), x, mean(values), spread, len(values)]


def step_points(
    figure: Figure, experiments: dict[str, Experiment], curves: dict[str, list[dict[str, str]]]
) -> Iterator[list[Any]]:
    """Rows of `POINTS`, one per experiment and point of the training at which y was logged.

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
                yield [experiments[name].row(), x, float(row[column]), spread, ""]


def _value(run: dict[str, Any], figure: Figure) -> float:
    """One number of a run: of the figure's direction, of both together, or their mean or sum.

    Raises:
        CrossmodalError: If the figure has a direction, of which alone nothing is known.
    """
    found, metric = metrics_of(run, [figure.y]), figure.y
    for part in (figure.direction,) if figure.direction else ("average", "both"):
        if metric in found.get(part, {}):
            return found[part][metric]
    if figure.direction:
        raise CrossmodalError(
            f"params.yaml: figures: {figure.title!r}: {metric} of {figure.direction} alone is not "
            "known; leave `direction` out"
        )
    values = [metrics[metric] for d, metrics in found.items() if "-to-" in d]
    return sum(values) if metric in COSTS else mean(values)
