"""One figure of params.yaml, from the metrics or the learning curves of its experiments."""

from pathlib import Path
from typing import Any

from crossmodal.evaluation.curves import LEARNING
from crossmodal.evaluation.figures import Line, draw_lines
from crossmodal.evaluation.sweeps import POINTS, option_points, step_points
from crossmodal.files import read_csv, read_json, write_csv
from crossmodal.schema import STEP, Experiment, Figure


def plot(spec: dict[str, Any], output: Path, paths: list[Path]) -> None:
    """Draw the figure as SVG to `output`, and write its points as CSV beside it.

    Args:
        spec: `figure` and the `experiments` that it shows, as in params.yaml.
        output: Path of the SVG file.
        paths: Metrics of all runs, <experiment>/seed<n>.json; where x is the training's step,
            learning curves, <experiment>.csv.

    Raises:
        CrossmodalError: If a file is missing or damaged.
    """
    figure = Figure.model_validate(spec["figure"])
    experiments = {n: Experiment.model_validate(e) for n, e in spec["experiments"].items()}
    if figure.x == STEP:
        curves = {path.stem: read_csv(path, LEARNING) for path in paths}
        points = list(step_points(figure, experiments, curves))
    else:
        runs: dict[str, list[dict[str, Any]]] = {}
        for path in paths:
            runs.setdefault(path.parent.name, []).append(read_json(path))
        points = list(option_points(figure, experiments, runs))
    write_csv(output.with_suffix(".csv"), POINTS, points)
    axes = figure.x.replace("_", " "), figure.y
    draw_lines(output, _lines(points), figure.title, axes, figure.logarithmic)


def _lines(points: list[list[Any]]) -> list[Line]:
    """A line per name, its points from left to right."""
    lines: dict[str, list[list[Any]]] = {}
    for name, *point in points:
        lines.setdefault(name, []).append(point)
    return [Line(name, *_columns(sorted(found))) for name, found in lines.items()]


def _columns(points: list[list[Any]]) -> tuple[list[float], list[float], list[float]]:
    """Positions, values and, where every point has a number of seeds, spreads."""
    x, y, spread, seeds = (list(column) for column in zip(*points, strict=True))
    return x, y, [value or 0.0 for value in spread] if all(seeds) else []
