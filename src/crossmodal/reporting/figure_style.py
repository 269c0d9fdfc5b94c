"""Style of all figures: one look for each method, legends below, one file format beside another."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from crossmodal.io.files import replacing

# told apart with any kind of colour vision (Okabe and Ito 2008); their yellow is too light on white
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "X")
DASHES = ("-", "--", ":", "-.")
LEVEL = "#777777"  # of a line across the figure
STYLE = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "crossmodal",  # equal data give equal bytes
    "pdf.fonttype": 42,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.xmargin": 0.02,
    "grid.alpha": 0.3,
    "lines.markersize": 5,
}
CHARACTERS = 11.5  # of a text, in an inch
HANDLE = 6  # characters that a legend's entry has besides its text
ENTRY_HEIGHT = 0.22  # inches
METADATA: dict[str, dict[str, None]] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


@dataclass(frozen=True)
class Look:
    """Appearance of a line: colour and marker are the method's, the dashes those of a variant."""

    colour: str
    marker: str
    dashes: str
    filled: bool


def looks(places: Mapping[str, int]) -> dict[str, Look]:
    """Return the look of each line of a figure.

    Methods that follow each other in params.yaml differ in colour, and share a marker by sevens.
    Where all lines are of one method, each looks like a method of its own.

    Args:
        places: Of the method of each line in `methods` of params.yaml, by the line's name.
    """
    if len(set(places.values())) == 1:
        places = {name: number for number, name in enumerate(places)}
    count: dict[int, int] = {}
    looks = {}
    for name, place in places.items():
        variant = count[place] = count.get(place, -1) + 1
        looks[name] = Look(
            COLOURS[place % len(COLOURS)],
            MARKERS[place // len(COLOURS) % len(MARKERS)],
            DASHES[variant % len(DASHES)],
            variant < len(DASHES),
        )
    return looks


def width_of(figure: Figure) -> int:
    """Return how many characters of text are as wide as a figure."""
    return int(figure.get_figwidth() * CHARACTERS)


def columns_of(labels: Iterable[str], width: float) -> int:
    """Return the columns of a legend.

    Args:
        labels: Texts of its entries.
        width: Of the figure, in inches.
    """
    longest = max(map(len, labels), default=1) + HANDLE
    return max(1, int(width * CHARACTERS / longest))


def legend_height(labels: Sequence[str], width: float) -> float:
    """Return the height of a legend in inches; see `columns_of`."""
    return ENTRY_HEIGHT * -(-len(labels) // columns_of(labels, width))


def add_legend(figure: Figure, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """Add a legend below all panels; a label wider than the figure is broken into lines."""
    columns, width = columns_of(labels, figure.get_figwidth()), width_of(figure) - HANDLE
    texts = [fill(label, width) for label in labels]
    # entries run from left to right, not from the top to the bottom
    order = [*itertools.chain(*(range(start, len(texts), columns) for start in range(columns)))]
    figure.legend(
        [handles[n] for n in order],
        [texts[n] for n in order],
        loc="outside lower center",
        ncols=columns,
        frameon=False,
    )


def add_title(figure: Figure, title: str) -> None:
    """Add a title above all panels, in lines that the figure is wide enough for."""
    figure.suptitle(fill(title, int(0.9 * width_of(figure))), fontsize="large")


def save(figure: Figure, path: Path) -> None:
    """Write a figure as SVG, and as PDF beside it, each atomically; close it."""
    for suffix, metadata in METADATA.items():
        with replacing(path.with_suffix(suffix)) as temporary:
            figure.savefig(temporary, format=suffix[1:], metadata=metadata)
    plt.close(figure)
