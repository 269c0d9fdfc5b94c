"""What each step costs at three sizes of synthetic data, and how fast that grows.

Seconds are those of the processor, of a fresh process and of those that it starts. Data are made
before, by benchmarks/growing_work.py, in a folder that is removed.

Run: PYTHONPATH=. python benchmarks/growth.py
  --only prepare extract   some of the rows
  --state growth.json      keeps what was measured; what it has is not measured again
  --page docs/growth.md    writes that page
"""

import argparse
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

import numpy as np

from benchmarks import growing_work as work
from benchmarks.ratio import machine
from crossmodal.io.files import read_json, write_json

Measured = list[tuple[float, float]]  # seconds and GB, for each size


@dataclass(frozen=True)
class Cost:
    """Something that is measured.

    Args:
        what: What is done, and what its sizes count.
        sizes: Three of them.
        make: Makes the data of a size in the working folder.
        work: Is measured.
        bound: What bounds the cost.
    """

    what: str
    sizes: tuple[int, ...]
    make: Callable[[int], None]
    work: Callable[[int], None]
    bound: str


PAIRS = (5_000, 10_000, 20_000)
ROWS = (400_000, 800_000, 1_600_000)
COSTS = {
    name: Cost(*columns)
    for name, *columns in (
        (
            "dry_run",
            "`snakemake --dry-run` of all suites without an extra, at first; times these",
            (1, 2, 4),
            work.make_suites,
            work.dry_run,
            "jobs, a few for each experiment",
        ),
        (
            "check",
            "`crossmodal check` of all suites, at first; times these",
            (1, 2, 4),
            work.make_suites,
            work.check,
            "options of each experiment",
        ),
        (
            "check_prepared",
            "`crossmodal check` of a dataset; pairs",
            PAIRS,
            work.make_prepared,
            work.check_prepared,
            "headers of pictures",
        ),
        ("prepare", "prepare; pairs", PAIRS, work.make_table, work.prepare, "decoding of pictures"),
        (
            "near_duplicates",
            "near duplicates; pictures",
            (25_000, 50_000, 100_000),
            work.make_looks,
            work.find_duplicates,
            "cosines of all pairs, by definition: in 160 dimensions no index is without loss",
        ),
        (
            "extract",
            "extract `bow_item`; pairs",
            (20_000, 40_000, 80_000),
            work.make_captions,
            work.extract_bow,
            "words of texts",
        ),
        (
            "evaluate_some",
            f"evaluate {work.QUERIES:,} queries; documents",
            ROWS,
            work.make_embeddings,
            work.evaluate_some,
            "a score of each document",
        ),
        (
            "evaluate",
            "evaluate; items, each a query and a document",
            (10_000, 20_000, 40_000),
            work.make_embeddings,
            work.evaluate_all,
            "scores of all pairs, by definition: a rank counts what scores higher",
        ),
        (
            "index",
            "index for approximate search; items",
            ROWS,
            work.make_embeddings,
            work.index,
            "distances to all cells, by definition: they are as many as the items' root",
        ),
        (
            "own",
            "own data, from a folder to a table; pairs",
            (1_000, 10_000, 100_000),
            work.make_folder,
            work.from_folder_to_table,
            "start of jobs, then files",
        ),
    )
}

HEAD = (
    "# Growth\n\n"
    "What steps cost at three sizes of synthetic data: seconds of the processor, peak memory of a "
    "process at the largest size, and the slope of the seconds against the size, both as "
    "logarithms: 1 where the cost is proportional. Commands include the start of Python and of "
    "each job, which flattens their slope; slopes of times below a second are rough. Pictures have "
    "64 by 48 pixels, embeddings {width} dimensions. Measured "
    "on {machine}, beside other work. {lacking}Written by `PYTHONPATH=. python "
    "benchmarks/growth.py --page docs/growth.md`.\n\n"
)
COLUMNS = (
    "| what; what its sizes count | sizes | seconds | GB | slope | bounded by |\n"
    "| --- | ---: | ---: | ---: | ---: | --- |\n"
)


def timed(function: Callable[[int], None], folder: str, size: int) -> tuple[float, float]:
    """Seconds of the processor, and peak memory in GB, of work in a folder."""
    os.chdir(folder)
    before = sum(os.times()[:4])
    function(size)
    peak = max(getrusage(who).ru_maxrss for who in (RUSAGE_SELF, RUSAGE_CHILDREN))  # KiB
    return sum(os.times()[:4]) - before, peak * 1024 / 1e9


def measure(cost: Cost) -> Measured:
    """Seconds and memory at each size, in processes of their own."""
    measured = []
    with get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        for size in cost.sizes:
            with tempfile.TemporaryDirectory() as folder:
                pool.apply(timed, (cost.make, folder, size))
                measured.append(pool.apply(timed, (cost.work, folder, size)))
    return measured


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Exponent of the power of the size that is nearest to the seconds, in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def row(cost: Cost, measured: Measured) -> str:
    """Row of the table, as Markdown."""
    seconds, peaks = zip(*measured, strict=True)
    numbers = [
        " / ".join(f"{size:,}" for size in cost.sizes),
        " / ".join(f"{each:.3g}" for each in seconds),
        f"{peaks[-1]:.1f}",
        f"{slope(cost.sizes, seconds):.2f}",
    ]
    return f"| {' | '.join([cost.what, *numbers, cost.bound])} |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--only", nargs="+", choices=COSTS, default=[*COSTS])
    parser.add_argument("--state", type=Path, default=Path("growth.json"))
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    kept = read_json(options.state) if options.state.exists() else {}
    for name in options.only:
        if name not in kept:
            kept[name] = measure(COSTS[name])
            write_json(options.state, kept)
        print(row(COSTS[name], kept[name]), end="", flush=True)
    if options.page:
        rows = "".join(row(cost, kept[name]) for name, cost in COSTS.items() if name in kept)
        absent = [cost.what for name, cost in COSTS.items() if name not in kept]
        lacking = f"Not measured: {'. '.join(absent)}. " if absent else ""
        head = HEAD.format(machine=machine(), width=work.WIDTH, lacking=lacking)
        options.page.write_text(head + COLUMNS + rows, encoding="utf-8")


if __name__ == "__main__":
    main()
