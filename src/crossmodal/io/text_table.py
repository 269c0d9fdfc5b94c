"""Tables of aligned columns, for a terminal or a pipe, and texts cut to fit."""

import shutil
import textwrap
from collections.abc import Iterable
from itertools import zip_longest

ELLIPSIS = " ..."
NARROW, LAST = 24, 40  # columns of a value or a type at most, and of the last column at least


def shorten(text: str, letters: int) -> str:
    """Return a text of one line and at most so many letters; scripts without spaces are cut too."""
    line = " ".join(text.split())
    return line if len(line) <= letters else line[: letters - len(ELLIPSIS)].rstrip() + ELLIPSIS


def print_table(title: str, header: tuple[str, ...], body: Iterable[tuple[str, ...]]) -> None:
    """Return a table of aligned columns; long cells go on in the next line."""
    rows = [header, *body]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    wrapped = [i for i, name in enumerate(header) if name in ("type", "value")]
    widths = [min(w, NARROW) if i in wrapped else w for i, w in enumerate(widths)]
    left = shutil.get_terminal_size((120, 24)).columns - sum(widths[:-1]) - 2 * len(widths[:-1])
    widths[-1] = min(widths[-1], max(left, LAST))
    print(title)
    for row in rows:
        cells = [textwrap.wrap(c, w) or [""] for c, w in zip(row, widths, strict=True)]
        for line in zip_longest(*cells, fillvalue=""):
            print("  ".join(f"{c:{w}}" for c, w in zip(line, widths, strict=True)).rstrip())
