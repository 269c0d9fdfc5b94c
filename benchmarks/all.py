"""Measures beside others' programs, and writes docs/benchmarks.md: `make benchmarks`.

Each benchmark has a process of its own, with one thread, and leaves its rows in
benchmarks/measured/; the page has the rows of all, under the machine that measured them. What
fails is said at the end.
Run: PYTHONPATH=. python benchmarks/all.py [NAME ...]
"""

import argparse
import os
import sys
import traceback
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from importlib import import_module
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

from benchmarks.ratio import EXTRA, Row, machine, not_measured, shown
from crossmodal.io.files import read_json, write_json, write_text

ROOT = Path(__file__).parents[1]
MEASURED, PAGE = ROOT / "benchmarks/measured", ROOT / "docs/benchmarks.md"
NAMES = (
    "evaluators",
    "search",
    "cca",
    "image_encoders",
    "online",
    "training",
    "extraction",
    "evaluation",
    "mean_average_precision",
    "matchmaps",
    "products",
    "logmel",
)
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
HEADER = """# Speed beside others

What this pipeline computes, beside other programs that compute the same, in one run on one \
machine: `make benchmarks` writes this page, in about half an hour. A ratio above 1 says that ours \
is faster. Both take turns, and the best round of each counts; results are compared first. Times \
are seconds of one processor, unless the note says otherwise. Other machines give other ratios: \
measure yours. `PYTHONPATH=. python benchmarks/all.py NAME` measures one of {names} again.
"""
TABLE = """
| what | size | peer | ours | peer's | ratio | note |
|---|---|---|---:|---:|---:|---|
"""


def file_of(name):
    """Where the rows of a benchmark are kept."""
    return MEASURED / f"{name}.json"


def rows_of(name):
    """Measure one benchmark, and print its rows; a package that is absent gives a row, too."""
    rows = []
    for row in _rows(name):
        print(row, flush=True)
        rows.append(asdict(row))
    return rows


def _rows(name):
    try:
        yield from import_module(f"benchmarks.{name}").ratios()
    except ModuleNotFoundError as error:
        yield not_measured(name, "", error.name, EXTRA)


def measure(name):
    """Measure in a process of its own, and keep the rows."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        rows = pool.submit(rows_of, name).result()
    write_json(file_of(name), {"machine": machine(), "rows": rows})


def page():
    """All rows that are kept, under their machines."""
    missing = [f"`{name}`" for name in NAMES if not file_of(name).exists()]
    kept = [read_json(file_of(name)) for name in NAMES if file_of(name).exists()]
    kept.sort(key=lambda content: content["machine"])  # stable: in the order of NAMES
    parts = [HEADER.format(names=", ".join(f"`{name}`" for name in NAMES))]
    for where, contents in groupby(kept, lambda content: content["machine"]):
        rows = [Row(**row) for content in contents for row in content["rows"]]
        parts.append(f"\n## {where}\n{TABLE}" + "".join(map(line, rows)))
    if missing:
        parts.append(f"\nNot measured yet: {', '.join(missing)}.\n")
    return "".join(parts)


def line(row):
    """A line of the table."""
    cells = row.what, row.size, row.peer, shown(row.ours), shown(row.theirs), row.ratio, row.note
    return f"| {' | '.join(cells)} |\n"


def main(names):
    os.environ |= ONE_THREAD | {"HF_HUB_OFFLINE": "1"}
    failed = []
    for name in names or NAMES:
        try:
            measure(name)
        except Exception:
            traceback.print_exc()
            failed.append(name)
        write_text(PAGE, page())
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    main(parser.parse_args().names)
