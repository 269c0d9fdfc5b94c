"""Figures over experiments: a metric against an option, or against the training."""

from pathlib import Path

from crossmodal.config.table import TRAINING
from crossmodal.io.files import read_csv
from crossmodal.reporting.curves import LEARNING
from crossmodal.reporting.figures import Line, Points, draw_lines
from crossmodal.reporting.run_metrics import Runs, read_metrics
from crossmodal.reporting.sweeps import Point, option_points, step_points
from crossmodal.workflow.report_specs import Sweep

UNITS = {"mAP": "(0 to 1)", "R": "(%)", "rsum": "(%)"}  # by the metric before its depth


def draw_sweep(spec: Sweep, output: Path, inputs: list[Path]) -> Points:
    """Draw a metric of experiments against an option, or against their training.

    Args:
        spec: The figure, and the experiments that it shows.
        output: The SVG, beside which a PDF is written.
        inputs: Metrics of all runs, <experiment>/seed<n>.json; where x is of the training, learning
            curves, <experiment>.csv.

    Returns:
        The points: see `sweeps.Point`.
    """
    figure, experiments = spec.figure, spec.experiments
    if figure.x in TRAINING:
        curves = {path.stem: read_csv(path, LEARNING) for path in inputs}
        rows = list(step_points(figure, experiments, curves))
    else:
        runs: Runs = {}
        for path in inputs:
            runs.setdefault(path.parent.name, []).append(read_metrics(path))
        rows = list(option_points(figure, experiments, runs))
    datasets = ", ".join(dict.fromkeys(one.dataset for one in experiments.values()))
    title = f"{figure.title} ({datasets}; {'training' if figure.x in TRAINING else 'test split'})"
    unit = UNITS.get(figure.y.partition("@")[0], "")
    axes = figure.x.replace("_", " "), " ".join(filter(None, [figure.y, unit, figure.direction]))
    named = () if figure.x in TRAINING else (figure.x,)
    places = {one.row(*named): spec.methods[name] for name, one in experiments.items()}
    draw_lines(output, _lines(rows, places), title, axes, figure.logarithmic)
    return [*Point._fields], rows


def _lines(points: list[Point], places: dict[str, int]) -> list[Line]:
    """Return a line per name, its points from left to right."""
    lines: dict[str, list[Point]] = {}
    for point in points:
        lines.setdefault(point.line, []).append(point)
    return [_line(name, sorted(own), places[name]) for name, own in lines.items()]


def _line(name: str, points: list[Point], method: int) -> Line:
    """Return a line with spreads where all points are of seeds, or one has a spread."""
    spread = [float(p.spread or 0) for p in points]
    if not (all(p.seeds for p in points) or any(p.spread for p in points)):
        spread = []
    return Line(name, [p.x for p in points], [p.y for p in points], spread, method)
