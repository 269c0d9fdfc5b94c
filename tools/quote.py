"""Quote the tables of runs in the pages: `make quote`.

A page says what it quotes:

    <!-- quote scenes_category -->           the table scenes_category, whole
    <!-- quote scenes_category average -->   of its directions the average alone
    <!-- quote rows -->                      single numbers: each row names a method, a table and
    <!-- end of quote -->                    a metric with its direction, and is filled in

and a figure `![...](NAME.svg)` beside a page is results/figures/NAME.svg. Tables are made of the
runs in results/ and in docs/runs/, see `kept_runs`. A table that would lose a row, since runs of it
were never kept and are not here, and a figure that has not been made here, stay as they are.
"""

import re
import shutil
import sys
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

from kept_runs import keep, make_table, never_kept

from crossmodal.config.params import Params, read

FIGURES = Path("results/figures")
QUOTE = re.compile(r"(<!-- quote (\w+)(?: ([\w-]+))? -->\n)(.*?)(<!-- end of quote -->)", re.DOTALL)
DIRECTION = re.compile(r"^\*\*([\w-]+)\*\*$", re.MULTILINE)
HEADER = ("table", "---")
FIGURE = re.compile(r"!\[[^]]*\]\((\w+\.svg)\)")

# a table as Markdown by its name, or None
Tables = Callable[[str], str | None]


def main(present: Params, *pages: Path) -> None:
    """Write pages, and the figures beside them, anew; keep the runs of what they quote."""
    tables = cache(partial(make_table, present))
    for page in pages:
        text = quote(page.read_text(), tables, partial(never_kept, present))
        page.write_text(text)
        for figure in FIGURE.findall(text):
            if (FIGURES / figure).exists():
                shutil.copyfile(FIGURES / figure, page.parent / figure)
    # last, since a kept run that is dropped still says that its row may be empty now
    quoted = {name for page in pages for _, name, *_ in QUOTE.findall(page.read_text())}
    for name in quoted - {"rows"}:
        keep(present, name)


def quote(page: str, tables: Tables, never_kept: Callable[[str], set[str]]) -> str:
    """The page with each quotation made anew.

    Args:
        page: Its text.
        tables: Makes a table by its name.
        never_kept: Labels of a table's rows of which some run is not here and was never kept.

    Raises:
        SystemExit: If a table lacks a direction, or the method or metric that a row names.
    """

    def replaced(found: re.Match[str]) -> str:
        begin, name, direction, old, end = found.groups()
        if name == "rows":
            rows = old.splitlines(keepends=True)
            return begin + "".join(_fill(tables, row) for row in rows) + end
        table = tables(name)
        lost = [row for row in _lost(old, table or "") if row in never_kept(name)]
        if lost:
            print(f"{name} stays as it is quoted: no runs of {', '.join(lost)}", file=sys.stderr)
        if table and direction and f"**{direction}**" not in table:
            sys.exit(f"{name} has no direction {direction}")
        return begin + (_body(table, direction) if table and not lost else old) + end

    return QUOTE.sub(replaced, page)


def _lost(old: str, table: str) -> list[str]:
    """Rows that a quoted table has from more seeds than the new one."""
    directions = [d for d in DIRECTION.findall(table) if f"**{d}**" in old]
    pairs = [(_numbers(old, d), _numbers(table, d)) for d in directions]
    lost = (
        label
        for before, now in pairs
        for label in before.keys() & now.keys()
        if _seeds(before[label]) > _seeds(now[label])
    )
    return [*dict.fromkeys(lost)]


def _seeds(cells: dict[str, str]) -> int:
    return int(cells["seeds"].split()[0]) if cells["seeds"] else 0


def _body(table: str, direction: str | None) -> str:
    """A table, or one direction of it, without its title, which the page has, and its figures."""
    left_out = {f"**{d}**" for d in DIRECTION.findall(table) if direction not in (None, d)}
    parts = [p for p in table.strip().split("\n\n") if not p.startswith(("## ", "!["))]
    parts = [
        part
        for before, part in pairwise(["", *parts])
        if part not in left_out and before not in left_out
    ]
    return "\n" + "\n\n".join(parts) + "\n\n"


def _fill(tables: Tables, line: str) -> str:
    """A row `| method | table | metric | published | reproduced |` with its table's numbers."""
    method, name, metric = (cell.strip(" `") for cell in line.split("|")[1:4])
    table = None if name in HEADER else tables(name)
    if not table:
        return line
    direction, metric = metric.split()
    numbers = _numbers(table, direction)
    if method not in numbers or not any(c.startswith(metric) for c in numbers[method]):
        sys.exit(f"{name} has no {metric} of {method!r}, {direction}")
    row = numbers[method]
    published = row.get(f"{metric} published", "")
    reproduced = row.get(f"{metric} reproduced", row.get(metric))
    if not reproduced:  # of a table that stays as it is quoted
        return line
    return f"| {method} | `{name}` | {direction} {metric} | {published} | {reproduced} |\n"


def _numbers(table: str, direction: str) -> dict[str, dict[str, str]]:
    """Cells of one direction by row and column."""
    part = table.split(f"**{direction}**\n\n")[1].split("\n\n")[0]
    header, _, *rows = ([cell.strip(" *") for cell in r.split("|")[1:-1]] for r in part.split("\n"))
    return {row[0]: dict(zip(header, row, strict=True)) for row in rows}


if __name__ == "__main__":
    main(read(Path("params.yaml")), *map(Path, sys.argv[1:]))
