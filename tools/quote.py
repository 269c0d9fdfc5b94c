"""Quote the scorecard and the tables of runs in the pages: `make quote`.

A page says what it quotes:

    <!-- quote claims -->                    the scorecard of the papers' claims, whole
    <!-- quote claims tally -->              how many claims hold
    <!-- quote scenes_category average -->   of a table's directions one alone
    <!-- quote tables -->                    a list of whole tables, a page each in docs/tables:
    - SAM: `scenes_category`                 names of tables, which become links
    <!-- end of quote -->

and a figure `![...](NAME.svg)` beside a page is results/figures/NAME.svg. Tables, the scorecard and
its figure are made of the runs in results/ and in docs/runs/, see `kept_runs`; in place of a table
without any run stands a line that says so. A figure that has not been made here stays as it is.
"""

import re
import shutil
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from kept_runs import CLAIMS, keep, make_scorecard, make_table

from crossmodal.config.params import Params, read

FIGURES = Path("results/figures")
CLAIMS_FIGURE = Path("docs/claims.svg")  # drawn of kept runs, too
PAGES = Path("docs/tables")
QUOTE = re.compile(r"(<!-- quote (\w+)(?: ([\w-]+))? -->\n)(.*?)(<!-- end of quote -->)", re.DOTALL)
DIRECTION = re.compile(r"^\*\*([\w-]+)\*\*$", re.MULTILINE)
LISTED = re.compile(r"`(\w+)`|\(tables/(\w+)\.md\)")
GROUP = re.compile(r"- (?:[^`\[]+: )?")
FIGURE = re.compile(r"!\[[^]]*\]\((\w+\.svg)\)")

# a table, or the scorecard, as Markdown by its name, or None
Tables = Callable[[str], str | None]


def main(present: Params, *pages: Path) -> None:
    """Write pages, tables and figures anew; keep the runs of what they quote."""
    tables = cache(partial(make, present))
    for page in pages:
        text = quote(page.read_text(), tables)
        page.write_text(text)
        for figure in FIGURE.findall(text):
            if figure != CLAIMS_FIGURE.name and (FIGURES / figure).exists():
                shutil.copyfile(FIGURES / figure, page.parent / figure)
    names = {name for page in pages for name in quoted(page.read_text())}
    write_tables({name: tables(name) for page in pages for name in listed(page.read_text())})
    # last, since a kept run that is dropped still says that its row may be empty now
    keep(present, sorted(names))


def make(present: Params, name: str) -> str | None:
    """A table, or the scorecard, as Markdown."""
    if name == CLAIMS:
        return make_scorecard(present, CLAIMS_FIGURE)
    return make_table(present, name)


def quoted(page: str) -> set[str]:
    """Names that a page quotes or lists: of tables, and of the scorecard."""
    names = {name for _, name, *_ in QUOTE.findall(page)} | {*listed(page)}
    return names - {"tables"}


def listed(page: str) -> list[str]:
    """Names in its lists of tables."""
    lists = [old for _, name, _, old, _ in QUOTE.findall(page) if name == "tables"]
    return [name for names in lists for name in _names(names)]


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(a or b for a, b in LISTED.findall(text)))


def quote(page: str, tables: Tables) -> str:
    """The page with each quotation made anew.

    Args:
        page: Its text.
        tables: Makes a table by its name.

    Raises:
        SystemExit: If a table lacks a direction.
    """

    def replaced(match: re.Match[str]) -> str:
        begin, name, direction, old, end = match.groups()
        if name == "tables":
            return begin + _list(tables, old) + end
        if (table := tables(name)) is None:
            return f"{begin}\nNo run of `{name}` is kept.\n\n{end}"
        if direction == "tally":
            return f"{begin}\n{_parts(table)[0]}\n\n{end}"
        if direction and f"**{direction}**" not in table:
            sys.exit(f"{name} has no direction {direction}")
        return begin + _body(table, direction) + end

    return QUOTE.sub(replaced, page)


def write_tables(tables: dict[str, str | None]) -> None:
    """Write a page for each whole table, and remove those of others.

    Args:
        tables: Markdown by name; None without any run.
    """
    for page in PAGES.glob("*.md"):
        page.unlink()
    for name, table in tables.items():
        if table is not None:
            PAGES.mkdir(parents=True, exist_ok=True)
            text = f"# {_title(table)}\n\n`{name}`, of [all results](../results.md).\n"
            (PAGES / f"{name}.md").write_text(text + _body(table, None).rstrip() + "\n")


def _list(tables: Tables, old: str) -> str:
    """Tables with a page, linked where they are listed, and a paragraph that names the others."""
    lines = []
    for line in old.splitlines():
        links = [f"[{_title(t)}](tables/{n}.md)" for n in _names(line) if (t := tables(n))]
        group = GROUP.match(line)
        if group and links:
            lines.append(group[0] + ", ".join(links))
        else:
            lines += [f"- {link}" for link in links]
    others = [f"`{n}`" for n in _names(old) if tables(n) is None]
    if others:
        lines += ["", f"No run is kept of {', '.join(others)}."]
    return "\n".join(lines) + "\n"


def _title(table: str) -> str:
    return table.split("\n", 1)[0].removeprefix("## ")


def _parts(table: str) -> list[str]:
    """Paragraphs of a table without its title, which the page has, and its figures."""
    return [p for p in table.strip().split("\n\n") if not p.startswith(("## ", "!["))]


def _body(table: str, direction: str | None) -> str:
    """A table, or one direction of it."""
    left_out = {f"**{d}**" for d in DIRECTION.findall(table) if direction not in (None, d)}
    # what signs mean is said once on the page that quotes parts of tables
    parts = [p for p in _parts(table) if direction is None or not p.startswith(("±", "†"))]
    parts = [
        part
        for before, part in zip(["", *parts], parts, strict=False)
        if part not in left_out and before not in left_out
    ]
    return "\n" + "\n\n".join(parts) + "\n\n"


if __name__ == "__main__":
    main(read(Path("params.yaml")), *map(Path, sys.argv[1:]))
