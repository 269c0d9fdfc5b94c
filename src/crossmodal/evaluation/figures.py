"""Line figures as SVG: text stays text, and equal data give equal bytes."""

from dataclasses import dataclass, field
from pathlib import Path

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot as plt

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
        spread: Half the length of each error bar; none are drawn without.
    """

    label: str
    x: list[float]
    y: list[float]
    spread: list[float] = field(default_factory=list)


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
            elif line.spread:
                area.errorbar(line.x, line.y, line.spread, label=line.label, marker="o", capsize=2)
            else:
                area.plot(line.x, line.y, label=line.label)
        area.set(title=title, xlabel=axes[0], ylabel=axes[1])
        if logarithmic:
            area.set_xscale("log")
        area.legend()
        with replacing(path) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None})
        plt.close(figure)
