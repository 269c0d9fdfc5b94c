"""Figures of one table: learning curves and precision-scope curves of its experiments."""

from pathlib import Path
from typing import Any

from crossmodal.evaluation.curves import LEARNING, PRECISION
from crossmodal.evaluation.figures import Line, draw_lines
from crossmodal.files import read_csv


def figures(spec: dict[str, Any], learning: Path, precision: Path, curves: Path) -> None:
    """Draw both figures.

    Args:
        spec: `title` of the table and `experiments`, pairs of name and label in the legend.
        learning: SVG of the learning curves.
        precision: SVG of the precision-scope curves.
        curves: Folder of curves: learning/<experiment>.csv, precision_scope/<experiment>.csv.

    Raises:
        CrossmodalError: If a curve is missing or damaged.
    """
    title, shown = spec["title"], spec["experiments"]
    lines = [_line(curves / "learning" / f"{name}.csv", LEARNING, label) for name, label in shown]
    # epochs and triplets meet on one axis
    lines = [Line(line.label, [x / (line.x[-1] or 1) for x in line.x], line.y) for line in lines]
    draw_lines(learning, lines, title, ("share of the training", "mAP or rsum, validation items"))
    lines = [
        _line(curves / "precision_scope" / f"{name}.csv", PRECISION, label) for name, label in shown
    ]
    axes = ("scope: documents shown", "precision, mean of both directions")
    draw_lines(precision, lines, title, axes, logarithmic=True)


def _line(path: Path, columns: list[str], label: str) -> Line:
    """First column against second."""
    rows = read_csv(path, columns)
    return Line(label, *([float(row[column]) for row in rows] for column in columns[:2]))
