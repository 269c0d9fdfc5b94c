"""Draw a forest plot: numbers with their intervals, below each other."""

from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from crossmodal.reporting.figure_style import COLOURS, STYLE, save

Look = tuple[str, str]  # colour and marker

LOOKS: tuple[Look, ...] = (*zip(COLOURS, ("o", "s", "^"), strict=False),)
WIDTH = 15.0  # inches
LINE = 0.34  # inches, for two lines of text
LABEL_CHARACTERS = 45  # on a line


@dataclass(frozen=True)
class Bar:
    """A number with its interval.

    Args:
        label: Name of its line; bars of one label share it.
        value: The number.
        interval: Its lower and upper end.
        kind: What its colour shows.
    """

    label: str
    value: float
    interval: tuple[float, float]
    kind: str


def draw_forest(path: Path, panels: dict[str, list[Bar]], title: str) -> None:
    """Draw intervals below each other, and a line at 0, in two columns of panels.

    Args:
        path: The SVG, beside which a PDF is written.
        panels: What to draw, from the top, by the heading of its panel; a kind has a colour and an
            entry in the legend; there are at most three.
        title: Below each panel.
    """
    kinds = {bar.kind for bars in panels.values() for bar in bars}
    looks = dict(zip(sorted(kinds), LOOKS, strict=False))
    lines = [len({bar.label for bar in bars}) for bars in panels.values()]
    heights = [max(lines[place : place + 2]) for place in range(0, len(lines), 2)] or [1]
    size = (WIDTH, sum(1.5 + LINE * height for height in heights))
    with plt.style.context(STYLE):
        figure = plt.figure(figsize=size, layout="constrained")
        areas = figure.subplots(len(heights), 2, height_ratios=heights, squeeze=False).flat
        for area in areas[len(panels) :]:
            area.set_axis_off()
        for area, (heading, bars) in zip(areas, panels.items(), strict=False):
            _draw_bars(area, bars, looks)
            area.set(title=heading, xlabel=title)
        handles = [
            Line2D([], [], linestyle="", label=kind, color=colour, marker=marker)
            for kind, (colour, marker) in looks.items()
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=len(LOOKS))
        save(figure, path)


def _draw_bars(area: Axes, bars: list[Bar], looks: dict[str, Look]) -> None:
    """Draw a line for each label; bars of one line lie a little below each other."""
    labels = list(dict.fromkeys(bar.label for bar in bars))
    for line, label in enumerate(labels):
        own = [bar for bar in bars if bar.label == label]
        places = np.linspace(line - 0.3, line + 0.3, len(own) + 2)[1:-1]
        for place, bar in zip(places, own, strict=True):
            colour, marker = looks[bar.kind]
            area.plot(bar.interval, [place, place], color=colour, linestyle="-")
            area.plot([bar.value], [place], color=colour, marker=marker, markersize=4)
    area.axvline(0, color="black", linewidth=0.8)
    area.set_yticks(range(len(labels)), [fill(label, LABEL_CHARACTERS) for label in labels])
    area.set_ylim(len(labels) - 0.5, -0.5)
