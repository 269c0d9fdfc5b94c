"""Tables as LaTeX, in the style of booktabs."""

import re

from crossmodal.config.table import Table
from crossmodal.reporting.rows import Row
from crossmodal.reporting.tables import grids

SPECIAL = re.compile(r"[\\&%$#_{}~^<>|]")
WORDS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
WORDS |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
SIGNS = {"±": r"$\pm$", "×": r"$\times$", "β": r"$\beta$", "η": r"$\eta$", "α": r"$\alpha$"}
MARKED = re.compile(r"^(\*\*?)(.*?):?\1$")
NUMBER = re.compile(r"(?<![\w.])-(?=\d)")


def to_latex(name: str, table: Table, rows: list[Row]) -> str:
    """Return the table as LaTeX, one `tabular` per direction; it needs the package booktabs.

    Args:
        name: Key of the table, of which the label is made.
        table: What it shows.
        rows: From `make_rows`.
    """
    parts = [
        f"\\textit{{{_escaped(direction)}}}\n\n{_tabular(lines)}"
        for direction, lines in grids(table, rows).items()
    ]
    begin = f"\\begin{{table}}\n\\centering\n\\caption{{{_escaped(table.title)}}}\n"
    body = "\n\n\\medskip\n".join(parts)
    return f"{begin}\\label{{tab:{name}}}\n{body}\n\\end{{table}}\n"


def _tabular(lines: list[list[str]]) -> str:
    header, *body = (" & ".join(map(_cell, line)) + r" \\" for line in lines)
    columns = "l" + "r" * (len(lines[0]) - 1)
    rows = "\n".join(body)
    begin = f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{header}\n\\midrule\n"
    return f"{begin}{rows}\n\\bottomrule\n\\end{{tabular}}"


def _cell(text: str) -> str:
    """Return a cell of Markdown as LaTeX."""
    if match := MARKED.match(text):
        style = "textbf" if match[1] == "**" else "textit"
        return f"\\{style}{{{_cell(match[2])}}}"
    return NUMBER.sub("$-$", _escaped(text))


def _escaped(text: str) -> str:
    escaped = SPECIAL.sub(lambda sign: WORDS.get(sign[0], f"\\{sign[0]}"), text)
    return "".join(SIGNS.get(letter, letter) for letter in escaped)
