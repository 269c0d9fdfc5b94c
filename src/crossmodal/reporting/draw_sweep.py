"""Figures over experiments: a metric against an option, or against the training."""

from pathlib import Path
from typing import Any

from crossmodal.config.table import TRAINING
from crossmodal.io.files import read_csv, read_json
from crossmodal.reporting.curves import LEARNING
from crossmodal.reporting.figures import Line, Points, draw_lines
from crossmodal.reporting.sweeps import POINTS, option_points, step_points
from crossmodal.workflow.report_specs import Sweep


def draw_sweep(spec: Sweep, output: Path, inputs: list[Path]) -> Points:
    """Draw a metric of experiments against an option, or against their training.

    Args:
        spec: The figure, and the experiments that it shows.
        output: The SVG.
        inputs: Metrics of all runs, <experiment>/seed<n>.json; where x is of the training, learning
            curves, <experiment>.csv.

    Returns:
        The points: see `sweeps.POINTS`.
    """
    figure, experiments = spec.figure, spec.experiments
    if figure.x in TRAINING:
        curves = {path.stem: read_csv(path, LEARNING) for path in inputs}
        rows = list(step_points(figure, experiments, curves))
    else:
        runs: dict[str, list[dict[str, Any]]] = {}
        for path in inputs:
            runs.setdefault(path.parent.name, []).append(read_json(path))
        rows = list(option_points(figure, experiments, runs))
    datasets = ", ".join(dict.fromkeys(one.dataset for one in experiments.values()))
    title = f"{figure.title} ({datasets}; {'training' if figure.x in TRAINING else 'test split'})"
    axes = figure.x.replace("_", " "), " ".join(filter(None, [figure.y, figure.direction]))
    draw_lines(output, _lines(rows), title, axes, figure.logarithmic)
    return POINTS, rows


def _lines(points: list[list[Any]]) -> list[Line]:
    """Return a line per name, its points from left to right."""
    lines: dict[str, list[list[Any]]] = {}
    for name, *point in points:
        lines.setdefault(name, []).append(point)
    return [Line(name, *_columns(sorted(own))) for name, own in lines.items()]


def _columns(points: list[list[Any]]) -> tuple[list[float], list[float], list[float]]:
    """Return positions, values and, where they are of seeds or any has one, spreads."""
    x, y, spread, seeds = (list(column) for column in zip(*points, strict=True))
    return x, y, [float(value or 0) for value in spread] if all(seeds) or any(spread) else []
