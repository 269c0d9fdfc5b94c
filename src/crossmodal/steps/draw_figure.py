"""One figure of params.yaml, from the metrics or the learning curves of its experiments."""

from pathlib import Path
from typing import Any

from crossmodal.config.experiment import Experiment
from crossmodal.config.table import TRAINING, Figure
from crossmodal.io.files import read_csv, read_json, write_csv
from crossmodal.reporting.curves import LEARNING
from crossmodal.reporting.figures import Line, draw_lines
from crossmodal.reporting.sweeps import POINTS, option_points, step_points
from crossmodal.workflow.records import verified


def draw_figure(spec: dict[str, Any], output: Path, points: Path, paths: list[Path]) -> None:
    """Draw the figure, and write its points.

    Args:
        spec: `figure` and the `experiments` that it shows, as in params.yaml.
        output: The SVG.
        points: The CSV.
        paths: Metrics of all runs, <experiment>/seed<n>.json; where x is the training's step,
            learning curves, <experiment>.csv.

    Raises:
        CrossmodalError: If a file is missing or corrupt.
    """
    verified(paths)
    figure = Figure.model_validate(spec["figure"])
    experiments = {n: Experiment.model_validate(e) for n, e in spec["experiments"].items()}
    if figure.x in TRAINING:
        curves = {path.stem: read_csv(path, LEARNING) for path in paths}
        rows = list(step_points(figure, experiments, curves))
    else:
        runs: dict[str, list[dict[str, Any]]] = {}
        for path in paths:
            runs.setdefault(path.parent.name, []).append(read_json(path))
        rows = list(option_points(figure, experiments, runs))
    write_csv(points, POINTS, rows)
    datasets = ", ".join(dict.fromkeys(one.dataset for one in experiments.values()))
    title = f"{figure.title} ({datasets}; {'training' if figure.x in TRAINING else 'test split'})"
    axes = figure.x.replace("_", " "), " ".join(filter(None, [figure.y, figure.direction]))
    draw_lines(output, _lines(rows), title, axes, figure.logarithmic)


def _lines(points: list[list[Any]]) -> list[Line]:
    """A line per name, its points from left to right."""
    lines: dict[str, list[list[Any]]] = {}
    for name, *point in points:
        lines.setdefault(name, []).append(point)
    return [Line(name, *_columns(sorted(found))) for name, found in lines.items()]


def _columns(points: list[list[Any]]) -> tuple[list[float], list[float], list[float]]:
    """Positions, values and, where they are of seeds or any has one, spreads."""
    x, y, spread, seeds = (list(column) for column in zip(*points, strict=True))
    known = all(seeds) or any(spread)
    return x, y, [float(value or 0) for value in spread] if known else []
