"""Figures as SVG: text stays text, and equal data give equal bytes."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("svg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler

from crossmodal.io.files import replacing

Points = tuple[list[str], Iterable[Iterable[object]]]  # columns and rows of what is drawn
DASHES = cycler(linestyle=["-", ":", "-."])  # all colours, then all of them dotted
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "crossmodal",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.prop_cycle": DASHES * cycler(color=matplotlib.color_sequences["tab10"]),
}
FEW = 12  # points, of which each has an error bar
TITLE_CHARACTERS = 44  # more on a line reach the legend, or leave a narrow figure


@dataclass(frozen=True)
class Line:
    """One line of a figure.

    Args:
        label: Its name in the legend.
        x: Positions, increasing.
        y: Values, as many.
        spread: Half the length of each error bar, or of a band where there are more than `FEW`
            points; none are drawn without.
    """

    label: str
    x: list[float]
    y: list[float]
    spread: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Group:
    """Points that look alike.

    Args:
        points: Their places, (n, 2).
        marker: As matplotlib calls it.
        colour: Number of their colour, from 0; there are 20.
    """

    points: np.ndarray
    marker: str
    colour: int


def draw_points(path: Path, groups: dict[str, Group], title: str) -> None:
    """Draw groups of points in a plane without scales into one SVG.

    Args:
        path: The file.
        groups: What to draw, by its name in the legend.
        title: Above the figure.
    """
    with plt.style.context(STYLE):
        figure, area = plt.subplots(figsize=(8.0, 5.0), layout="constrained")
        for label, group in groups.items():
            colour = plt.cm.tab20(group.colour % 20)
            x, y = group.points.T
            area.scatter(x, y, s=18, marker=group.marker, color=colour, label=label)
        area.set(title=fill(title, TITLE_CHARACTERS), xticks=[], yticks=[])
        figure.legend(loc="outside right upper")
        save(figure, path)


def draw_lines(
    path: Path, lines: list[Line], title: str, axes: tuple[str, str], logarithmic: bool = False
) -> None:
    """Draw lines into one SVG; a line of one point is drawn as a level across the figure.

    Args:
        path: The file.
        lines: What to draw, in the legend's order.
        title: Above the figure.
        axes: Labels of the x and y axis.
        logarithmic: Whether x is; each position then has its tick.
    """
    with plt.style.context(STYLE):
        height = max(4.0, 0.25 * len(lines))  # of the legend
        figure, area = plt.subplots(figsize=(8.0, height), layout="constrained")
        for line in lines:
            _draw(area, line)
        _name_positions(area, lines, logarithmic)
        area.set(title=fill(title, TITLE_CHARACTERS), xlabel=axes[0], ylabel=axes[1])
        figure.legend(loc="outside right upper")
        save(figure, path)


def draw_panels(
    path: Path,
    panels: dict[str, list[Line]],
    title: str,
    axes: tuple[str, str],
    *,
    logarithmic: bool,
    shared: bool,
) -> None:
    """Draw lines into panels side by side with one legend; equal labels look alike.

    Args:
        path: The file.
        panels: What to draw into each, by its heading.
        title: Above the figure.
        axes: Labels of the x and y axis.
        logarithmic: See `draw_lines`.
        shared: Whether all panels have one y axis.
    """
    with plt.style.context(STYLE):
        labels = dict.fromkeys(line.label for lines in panels.values() for line in lines)
        looks = dict(zip(labels, itertools.cycle(plt.rcParams["axes.prop_cycle"]), strict=False))
        size = (3.0 + 4.0 * len(panels), max(4.0, 0.25 * len(labels)))
        figure, areas = plt.subplots(
            1, len(panels), figsize=size, layout="constrained", sharey=shared, squeeze=False
        )
        for area, (heading, lines) in zip(areas.flat, panels.items(), strict=True):
            for line in lines:
                _draw(area, line, **looks[line.label])
            _name_positions(area, lines, logarithmic)
            area.set(title=heading, xlabel=axes[0])
        areas.flat[0].set_ylabel(axes[1])
        entries = [area.get_legend_handles_labels() for area in areas.flat]
        handles = {label: handle for pair in entries for handle, label in zip(*pair, strict=True)}
        figure.legend([handles[label] for label in labels], list(labels), loc="outside right upper")
        figure.suptitle(fill(title, TITLE_CHARACTERS * len(panels)))
        save(figure, path)


def _draw(area: Axes, line: Line, **look: Any) -> None:
    """Draw a line; see `draw_lines`."""
    if len(line.x) == 1:
        across = area.get_yaxis_transform()  # x from 0 to 1, whatever the data
        look |= {"linestyle": "--"}
        area.plot([0, 1], line.y * 2, transform=across, label=line.label, **look)
    elif line.spread and len(line.x) <= FEW:
        area.errorbar(line.x, line.y, line.spread, label=line.label, marker="o", capsize=2, **look)
    else:
        (drawn,) = area.plot(line.x, line.y, label=line.label, **look)
        if line.spread:
            low, high = np.array(line.y) + np.outer([-1, 1], line.spread)
            area.fill_between(line.x, low, high, color=drawn.get_color(), alpha=0.2, linewidth=0)


def _name_positions(area: Axes, lines: list[Line], logarithmic: bool) -> None:
    """Give each position its tick where x is logarithmic."""
    if logarithmic:
        area.set_xscale("log")
        positions = sorted({x for line in lines if len(line.x) > 1 for x in line.x})
        area.set_xticks(positions, [f"{x:g}" for x in positions])
        area.minorticks_off()


def draw_matrix(path: Path, values: np.ndarray, title: str, axes: tuple[str, str]) -> None:
    """Draw a matrix (n, m) into one SVG, the larger a value the brighter, row 0 at the top.

    Args:
        path: The file.
        values: What to draw.
        title: Above the figure.
        axes: Labels of the columns and of the rows.
    """
    with plt.style.context(STYLE | {"axes.grid": False}):
        figure, area = plt.subplots(figsize=(5.0, 4.4), layout="constrained")
        figure.colorbar(area.imshow(values, interpolation="nearest"))
        area.set(title=fill(title, TITLE_CHARACTERS), xlabel=axes[0], ylabel=axes[1])
        save(figure, path)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as SVG, atomically, and close it."""
    with replacing(path) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None})
    plt.close(figure)
