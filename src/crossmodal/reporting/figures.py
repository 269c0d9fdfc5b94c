"""Lines, points and matrices in figures."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from crossmodal.reporting.figure_style import (
    DASHES,
    LEVEL,
    STYLE,
    Look,
    add_legend,
    add_title,
    legend_height,
    looks,
    save,
)

Points = tuple[list[str], Iterable[Iterable[object]]]  # columns and rows of what is drawn
FEW = 12  # points, of which each has an error bar
DIRECT = 4  # lines of a single panel that are named at their ends
GAP = 0.06  # between such names, as a share of the panel's height
WIDTH, PANEL, HEIGHT = 8.0, 4.2, 3.6  # inches: of one panel, of one of several, of each


@dataclass(frozen=True)
class Line:
    """One line of a figure.

    Args:
        label: Its name.
        x: Positions, increasing.
        y: Values, as many.
        spread: Half the length of each error bar, or of a band where there are more than `FEW`
            points; none are drawn without.
        method: Place of its method in `methods` of params.yaml; None: a level that is no method's.
    """

    label: str
    x: list[float]
    y: list[float]
    spread: list[float] = field(default_factory=list)
    method: int | None = None


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
    """Draw groups of points in a plane without scales.

    Args:
        path: The SVG, beside which a PDF is written.
        groups: What to draw, by its name in the legend.
        title: Above the figure.
    """
    labels = [*groups]
    with plt.style.context(STYLE):
        size = (WIDTH, 4.5 + legend_height(labels, WIDTH))
        figure, area = plt.subplots(figsize=size, layout="constrained")
        for label, group in groups.items():
            colour = plt.cm.tab20(group.colour % 20)
            x, y = group.points.T
            area.scatter(x, y, s=18, marker=group.marker, color=colour, label=label)
        area.set(xticks=[], yticks=[])
        add_title(figure, title)
        add_legend(figure, *area.get_legend_handles_labels())
        save(figure, path)


def draw_lines(
    path: Path, lines: list[Line], title: str, axes: tuple[str, str], logarithmic: bool = False
) -> None:
    """Draw lines into one panel, see `draw_panels`."""
    draw_panels(path, {"": lines}, title, axes, logarithmic=logarithmic, shared=True)


def draw_panels(
    path: Path,
    panels: dict[str, list[Line]],
    title: str,
    axes: tuple[str, str],
    *,
    logarithmic: bool,
    shared: bool,
) -> None:
    """Draw lines into panels side by side; equal labels look alike.

    A line of one point is drawn as a level across its panel. A few lines in a single panel are
    named at their ends, more in a legend below.

    Args:
        path: The SVG, beside which a PDF is written.
        panels: What to draw into each, by its heading.
        title: Above the figure.
        axes: Labels of the x and y axis.
        logarithmic: Whether x is; each position then has its tick.
        shared: Whether all panels have one y axis.
    """
    lines = {line.label: line for own in panels.values() for line in own}
    is_direct = len(panels) == 1 and len(lines) <= DIRECT
    width = WIDTH if len(panels) == 1 else PANEL * len(panels)
    legend = 0.0 if is_direct else legend_height([*lines], width)
    appearance = _appearance([*lines.values()])
    with plt.style.context(STYLE):
        figure, areas = plt.subplots(
            1,
            len(panels),
            figsize=(width, HEIGHT + 0.4 + legend),
            layout="constrained",
            sharey=shared,
            squeeze=False,
        )
        for area, (heading, own) in zip(areas.flat, panels.items(), strict=True):
            for line in own:
                _draw(area, line, appearance[line.label])
            _name_positions(area, own, logarithmic)
            area.set(title=heading, xlabel=axes[0])
        areas.flat[0].set_ylabel(axes[1])
        add_title(figure, title)
        if is_direct:
            _name_lines(areas.flat[0], [*lines.values()], appearance)
        else:
            entries = [area.get_legend_handles_labels() for area in areas.flat]
            handles = {name: drawn for both in entries for drawn, name in zip(*both, strict=True)}
            add_legend(figure, [handles[label] for label in lines], [*lines])
        save(figure, path)


def _appearance(lines: list[Line]) -> dict[str, Look]:
    """Return the look of each line: that of its method, or of a level."""
    methods = {line.label: line.method for line in lines if line.method is not None}
    levels = [line.label for line in lines if line.method is None]
    dashes = {label: DASHES[1 + n % 3] for n, label in enumerate(levels)}
    return looks(methods) | {label: Look(LEVEL, "", dashes[label], True) for label in levels}


def _draw(area: Axes, line: Line, look: Look) -> None:
    """Draw a line; see `draw_panels`."""
    style: dict[str, Any] = {"label": line.label, "color": look.colour, "linestyle": look.dashes}
    if len(line.x) == 1:
        across = area.get_yaxis_transform()  # x from 0 to 1, whatever the data
        area.plot([0, 1], line.y * 2, transform=across, **style)
        return
    style |= {"marker": look.marker, "markevery": max(1, len(line.x) // FEW)}
    style |= {} if look.filled else {"markerfacecolor": "white"}
    if line.spread and len(line.x) <= FEW:
        area.errorbar(line.x, line.y, line.spread, capsize=2, **style)
        return
    area.plot(line.x, line.y, **style)
    if line.spread:
        low, high = np.array(line.y) + np.outer([-1, 1], line.spread)
        area.fill_between(line.x, low, high, color=look.colour, alpha=0.15, linewidth=0)


def _name_positions(area: Axes, lines: list[Line], logarithmic: bool) -> None:
    """Give each position its tick where x is logarithmic."""
    if logarithmic:
        area.set_xscale("log")
        positions = sorted({x for line in lines if len(line.x) > 1 for x in line.x})
        area.set_xticks(positions, [f"{x:g}" for x in positions])
        area.minorticks_off()


def _name_lines(area: Axes, lines: list[Line], appearance: dict[str, Look]) -> None:
    """Write the name of each line at its right end; names that would touch are moved apart."""
    to_share = area.transAxes.inverted().transform
    ends = [to_share(area.transData.transform((1, line.y[-1])))[1] for line in lines]
    height = -1.0
    for number in np.argsort(ends, kind="stable"):
        height = max(ends[number], height + GAP)
        line = lines[number]
        area.text(
            1.02,
            height,
            line.label,
            transform=area.transAxes,
            verticalalignment="center",
            color=appearance[line.label].colour,
        )


def draw_matrix(path: Path, values: np.ndarray, title: str, axes: tuple[str, str]) -> None:
    """Draw a matrix (n, m), the larger a value the brighter, row 0 at the top.

    Args:
        path: The SVG, beside which a PDF is written.
        values: What to draw.
        title: Above the figure.
        axes: Labels of the columns and of the rows.
    """
    with plt.style.context(STYLE | {"axes.grid": False}):
        figure, area = plt.subplots(figsize=(5.0, 4.6), layout="constrained")
        figure.colorbar(area.imshow(values, interpolation="nearest"), label="score")
        area.set(xlabel=axes[0], ylabel=axes[1])
        add_title(figure, title)
        save(figure, path)
