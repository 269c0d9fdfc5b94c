"""Take the costs of runs into the table of costs, and write docs/costs.md: `python tools/costs.py`.

Runs are those of this folder, by Snakemake's benchmarks, and the fits that docs/runs/ keeps.
"""

import csv
import os
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import NamedTuple

from crossmodal.commands.plan import COLUMNS, phases, table_rows
from crossmodal.config import params
from crossmodal.io.files import read_json, replacing
from crossmodal.workflow.job_costs import TABLE, Cost, Costs, read_table

ROOT = Path(__file__).parents[1]
KEY = ("rule", "job")
HEAD = """# What the suites take

Time, memory and disk that each suite is expected to take in an empty folder. `crossmodal plan --suite S` estimates what is left to do in your folder, and prefers what its own jobs took. Hours are summed over jobs, also where these run in parallel. Raw files count once for each plug-in.

A job's time and memory are what the same job took before, in this folder or in this project; of sizes that this project never ran, an estimate from the number of operations, on one core of a server of 2020 or on a data-centre GPU. *measured* is the share of the processor hours that was measured. Of {fits} fits that this project has run:

| expected / measured | time | 10 % | 90 % | memory | 10 % | 90 % |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| estimate, had the fit not been run | {estimated} |
| from another seed of the same experiment | {measured} |

Written by `python tools/costs.py`, which also takes new runs into the table of costs.
"""  # noqa: E501 (paragraphs of a page)


class Fit(NamedTuple):
    """Cost of a fit, which tries so many combinations of options, for so many seconds each."""

    tried: int
    seconds: float
    memory_mb: float


Fits = dict[str, list[Fit]]  # of each seed, by experiment


def main() -> None:
    """Write the table and the page."""
    os.chdir(ROOT)
    project = params.read(ROOT / "params.yaml")
    fits = kept_fits()
    write_table(measured(fits))
    text = HEAD.format(
        fits=sum(map(len, fits.values())),
        estimated=error(estimate_ratios(fits)),
        measured=error(seed_ratios(fits)),
    )
    with TemporaryDirectory() as empty:
        os.chdir(empty)
        for suite in project.suites:
            project.suite = suite
            rows = [COLUMNS, ["---", *["---:"] * (len(COLUMNS) - 1)], *table_rows(phases(project))]
            table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
            text += f"\n## {suite}\n\n{table}\n"
        os.chdir(ROOT)
    (ROOT / "docs/costs.md").write_text(text, encoding="utf-8")


def kept_fits() -> Fits:
    """Return the cost of the kept fits that were made on a processor."""
    fits: Fits = {}
    for path in sorted((ROOT / "docs/runs").glob("*.json")):
        for run, content in read_json(path).items():
            model = content.get("model", {})
            if "fit_seconds" in model and model["made"]["device"].startswith("x86_64"):
                fit = Fit(
                    max(1, len(model.get("search", []))),
                    model["fit_seconds"],
                    model["peak_memory_mb"],
                )
                fits.setdefault(Path(run).parent.name, []).append(fit)
    return fits


def measured(fits: Fits) -> dict[tuple[str, str], Cost]:
    """Return all costs that are known: of earlier runs, of the kept fits, of this folder."""
    costs = dict(read_table("measured"))
    for experiment, seeds in fits.items():
        costs["train", experiment] = Cost(
            seconds=max(fit.tried * fit.seconds for fit in seeds),
            memory_mb=max(fit.memory_mb for fit in seeds),
            disk_mb=_disk(experiment),
            origin="measured",
        )
    costs_here = Costs()
    for rule, job in read_table("estimated"):
        cost = costs_here.of(rule, job)
        if cost.origin == "run here":
            costs[rule, job] = cost.model_copy(update={"origin": "measured"})
    return costs


def _disk(experiment: str) -> float:
    cost = read_table("estimated").get(("train", experiment))
    return cost.disk_mb if cost else 0


def write_table(costs: dict[tuple[str, str], Cost]) -> None:
    """Write measured costs beside the estimates."""
    both = [*read_table("estimated").items(), *costs.items()]
    rows = sorted(
        (dict(zip(KEY, job, strict=True)) | cost.model_dump() for job, cost in both),
        key=lambda row: (row["rule"], row["job"], row["origin"]),
    )
    columns = [*KEY, "origin", *(name for name in Cost.model_fields if name != "origin")]
    with replacing(TABLE) as new, new.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {k: f"{v:g}" if isinstance(v, float) else v for k, v in r.items()} for r in rows
        )
    read_table.cache_clear()


def estimate_ratios(fits: Fits) -> Iterator[tuple[float, float]]:
    """Yield what was estimated by what was measured, time and memory, of each fit."""
    table = read_table("estimated")
    for experiment, seeds in fits.items():
        if cost := table.get(("train", experiment)):
            tried = max(fit.tried for fit in seeds)
            for fit in seeds:
                yield cost.seconds / tried / fit.seconds, cost.memory_mb / fit.memory_mb


def seed_ratios(fits: Fits) -> Iterator[tuple[float, float]]:
    """Yield the largest cost of the other seeds by that of a fit."""
    for seeds in fits.values():
        for index, fit in enumerate(seeds):
            others = seeds[:index] + seeds[index + 1 :]
            if others:
                seconds = max(other.seconds for other in others)
                memory = max(other.memory_mb for other in others)
                yield seconds / fit.seconds, memory / fit.memory_mb


def error(ratios: Iterator[tuple[float, float]]) -> str:
    """Return median, first and last decile of the ratios of time, and of memory, as cells."""
    cells = []
    for values in zip(*ratios, strict=True):
        tenths = quantiles(values, n=10)
        cells += [f"{value:.2f}" for value in (median(values), tenths[0], tenths[-1])]
    return " | ".join(cells)


if __name__ == "__main__":
    main()
