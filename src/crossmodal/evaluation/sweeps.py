"""Points of a figure: a metric against an option of experiments, or against their training."""

from collections.abc import Iterator
from statistics import mean, stdev
from typing import Any

from crossmodal.evaluation.curves import LEARNING
from crossmodal.evaluation.tables import metrics_of
from crossmodal.schema import Experiment, Figure

POINTS = ["line", "x", "y", "spread", "seeds"]


def option_points(
    figure: Figure, experiments: dict[str, Experiment], runs: dict[str, list[dict[str, Any]]]
) -> Iterator[list[Any]]:
    """Rows of `POINTS`, one per experiment; the spread over seeds is empty where there is one.

    Args:
        figure: What is drawn; experiments that differ in x alone share a line.
        experiments: The figure's experiments by name.
        runs: Metrics of each experiment's seeds, as `evaluate` wrote them.
    """
    for name in figure.experiments:
        values = [_value(run, figure.y) for run in runs[name]]
        spread = stdev(values) if len(values) > 1 else ""
        x = runs[name][0]["model"]["options"][figure.x]
        yield [experiments[name].row(figure.x), x, mean(values), spread, len(values)]


def step_points(
    figure: Figure, experiments: dict[str, Experiment], curves: dict[str, list[dict[str, str]]]
) -> Iterator[list[Any]]:
    """Rows of `POINTS`, one per experiment and step at which y was logged.

    Args:
        figure: What is drawn; each experiment is a line.
        experiments: The figure's experiments by name.
        curves: Learning curve of each experiment, rows of `curves.LEARNING`.
    """
    for name in figure.experiments:
        for row in curves[name]:
            if row[figure.y]:
                step = float(row[LEARNING[0]])
                yield [experiments[name].row(), step, float(row[figure.y]), "", ""]


def _value(run: dict[str, Any], metric: str) -> float:
    """One number of a run: the mean of both directions where each has its own."""
    found = metrics_of(run, [metric])
    for part in ("average", "both"):
        if metric in found[part]:
            return found[part][metric]
    return mean(metrics[metric] for d, metrics in found.items() if "-to-" in d)
