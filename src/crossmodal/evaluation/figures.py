"""Line figures as SVG: text stays text, and equal data give equal bytes."""

from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from crossmodal.files import replacing

STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "crossmodal",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
}


@dataclass(frozen=True)
class Line:
    """One line of a figure.

    Args:
        label: Its name in the legend.
        x: Positions, increasing.
        y: Values, as many.
    """

    label: str
    x: list[float]
    y: list[float]


def draw_lines(
    path: Path, lines: list[Line], title: str, axes: tuple[str, str], logarithmic: bool = False
) -> None:
    """Draw lines into one SVG; a line of one point is drawn as a level across the figure.

    Args:
        path: The file.
        lines: What to draw, in the legend's order.
        title: Above the figure.
        axes: Labels of the x and y axis.
        logarithmic: Whether x is logarithmic.
    """
    with plt.rc_context(STYLE):
        figure, area = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
        for line in lines:
            if len(line.x) == 1:
                across = area.get_yaxis_transform()  # x from 0 to 1, whatever the data
                area.plot([0, 1], line.y * 2, "--", transform=across, label=line.label)
            else:
                area.plot(line.x, line.y, label=line.label)
        area.set(title=title, xlabel=axes[0], ylabel=axes[1])
        if logarithmic:
            area.set_xscale("log")
        area.legend()
        save(figure, path)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as SVG, at once, and close it."""
    with replacing(path) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None})
    plt.close(figure)
