"""List the tables of the experiment files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from crossmodal.config.params import Params, read
from crossmodal.io.text_table import print_table

COLUMNS = ("table", "datasets", "rows", "suites", "title")


def tables(path: Path, overlays: Sequence[Path] = ()) -> None:
    """Print a line for each entry of `tables`."""
    print_table("tables", COLUMNS, table_rows(read(path, *overlays)))


def table_rows(params: Params) -> Iterator[tuple[str, ...]]:
    """Yield the cells of `COLUMNS` for each table."""
    for name, table in params.tables.items():
        datasets = dict.fromkeys(params.experiments[e].dataset for e in table.experiments)
        suites = [suite for suite, members in params.suites.items() if name in members]
        rows = str(len(table.experiments))
        yield name, ", ".join(datasets), rows, ", ".join(suites), table.title
