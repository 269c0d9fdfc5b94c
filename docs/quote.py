"""Quote the tables of this folder's runs in the pages: `make quote`.

A page says what it quotes:

    <!-- quote scenes_category -->       the table results/tables/scenes_category.md, whole
    <!-- quote rows -->                  single numbers: each row names a method, a table and a
    <!-- end of quote -->                metric with its direction, and is filled in

and a figure `![...](NAME.svg)` beside a page is results/figures/NAME.svg. A table or a figure that
has not been made here stays as it is.
"""

import re
import shutil
import sys
from pathlib import Path

TABLES, FIGURES = Path("results/tables"), Path("results/figures")
QUOTE = re.compile(r"(<!-- quote (\w+) -->\n)(.*?)(<!-- end of quote -->)", re.DOTALL)
FIGURE = re.compile(r"!\[[^]]*\]\((\w+\.svg)\)")


def main(*pages: Path) -> None:
    """Write pages, and the figures beside them, anew."""
    for page in pages:
        text = quote(page.read_text())
        page.write_text(text)
        for figure in FIGURE.findall(text):
            if (FIGURES / figure).exists():
                shutil.copyfile(FIGURES / figure, page.parent / figure)


def quote(page: str) -> str:
    """The page with each quotation made anew.

    Raises:
        SystemExit: If a row names a method or a metric that its table does not have.
    """
    return QUOTE.sub(lambda found: found[1] + _quotation(found[2], found[3]) + found[4], page)


def _quotation(name: str, old: str) -> str:
    if name == "rows":
        return "".join(_fill(line) for line in old.splitlines(keepends=True))
    path = TABLES / f"{name}.md"
    return _body(path.read_text()) if path.exists() else old


def _body(table: str) -> str:
    """A table without its title, which the page has, and without its figures."""
    parts = [p for p in table.strip().split("\n\n") if not p.startswith(("## ", "!["))]
    return "\n" + "\n\n".join(parts) + "\n\n"


def _fill(line: str) -> str:
    """A row `| method | table | metric | published | reproduced |` with its table's numbers."""
    method, table, metric = (cell.strip(" `") for cell in line.split("|")[1:4])
    path = TABLES / f"{table}.md"
    if not path.exists():  # a header too
        return line
    direction, metric = metric.split()
    numbers = _numbers(path.read_text(), direction)
    if method not in numbers or not any(c.startswith(metric) for c in numbers[method]):
        sys.exit(f"{path} has no {metric} of {method!r}, {direction}")
    row = numbers[method]
    published = row.get(f"{metric} published", "")
    reproduced = row.get(f"{metric} reproduced", row.get(metric))
    return f"| {method} | `{table}` | {direction} {metric} | {published} | {reproduced} |\n"


def _numbers(table: str, direction: str) -> dict[str, dict[str, str]]:
    """Cells of one direction by row and column."""
    part = table.split(f"**{direction}**\n\n")[1].split("\n\n")[0]
    header, _, *rows = ([cell.strip(" *") for cell in r.split("|")[1:-1]] for r in part.split("\n"))
    return {row[0]: dict(zip(header, row, strict=True)) for row in rows}


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
