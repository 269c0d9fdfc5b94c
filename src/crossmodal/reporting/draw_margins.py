"""Margins of a training by epoch: figures 3 to 6 of Semedo and Magalhaes, ACM MM 2019."""

from pathlib import Path
from textwrap import fill

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from crossmodal.errors import CrossmodalError
from crossmodal.learning.curve import LearningCurve, by_categories
from crossmodal.reporting.figure_style import (
    COLOURS,
    STYLE,
    add_legend,
    add_title,
    legend_height,
    save,
)
from crossmodal.reporting.figures import Points
from crossmodal.workflow.report_specs import Margins

COLUMNS = 4
TITLE_CHARACTERS = 28  # on a line above a panel
AVERAGES = ("epoch", "alpha", "margin")  # over all triplets


def draw_margins(spec: Margins, output: Path, inputs: list[Path]) -> Points:
    """Draw the mean margin of all triplets beside alpha(t), then of each pair of categories.

    There is a panel for each category of the anchor, with a line for each of the negative.

    Args:
        spec: Title of the figure.
        output: The SVG, beside which a PDF is written.
        inputs: Learning curve with columns `epoch`, `alpha`, `margin` and `margin <a> | <b>`.

    Returns:
        The points: these columns.

    Raises:
        CrossmodalError: If the method logged no margins.
    """
    (path,) = inputs
    curve = LearningCurve.read(path)
    if not curve.root or not {*AVERAGES} <= curve.root[0].keys():
        raise CrossmodalError(f"{path}: holds no margins; only the method `sam` logs them")
    columns = {name: [row[name] for row in curve.root] for name in AVERAGES}
    pairs = curve.margins()
    categories = list(dict.fromkeys(name for pair in pairs for name in pair))
    with plt.style.context(STYLE):
        rows, width = -(-(1 + len(categories)) // COLUMNS), 3.2 * COLUMNS
        size = (width, 2.6 * rows + 0.4 + legend_height(categories, width))
        figure, areas = plt.subplots(rows, COLUMNS, figsize=size, layout="constrained")
        first, *others = areas.flat
        _draw_average(first, columns)
        colours = dict(
            zip(categories, plt.cm.tab20(np.linspace(0, 1, len(categories))), strict=True)
        )
        for area, category in zip(others, categories, strict=False):
            _draw_category(area, category, columns["epoch"], pairs, colours)
        for area in others[len(categories) :]:
            area.set_axis_off()
        add_legend(figure, [plt.Line2D([], [], color=c) for c in colours.values()], [*colours])
        add_title(figure, spec.title)
        figure.supxlabel("epoch")
        save(figure, output)
    columns |= by_categories(pairs)
    return list(columns), zip(*columns.values(), strict=True)


def _draw_average(area: Axes, columns: dict[str, list[float]]) -> None:
    """Draw the mean margin on the left axis, alpha(t) on the right one."""
    area.plot(columns["epoch"], columns["margin"], color=COLOURS[0])
    area.set(title="all triplets", ylabel="mean margin")
    right = area.twinx()
    right.plot(columns["epoch"], columns["alpha"], "--", color=COLOURS[1])
    right.set_ylabel("alpha(t), dashed")
    right.set_ylim(0, 1)


def _draw_category(
    area: Axes,
    category: str,
    epochs: list[float],
    pairs: dict[tuple[str, str], list[float]],
    colours: dict[str, np.ndarray],
) -> None:
    """Draw a line per category of the negative."""
    for pair, values in pairs.items():
        if category in pair:
            other = pair[pair[0] == category]
            area.plot(epochs, values, color=colours[other])
    area.set_title(fill(category, TITLE_CHARACTERS))
