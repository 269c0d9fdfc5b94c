"""Write the site of a suite."""

import base64
from pathlib import Path

from crossmodal.io.files import read_csv, write_text
from crossmodal.reporting.run_metrics import read_metrics
from crossmodal.reporting.scorecard import MARKS
from crossmodal.reporting.scorecard_text import COLUMNS as COLUMNS_OF_CLAIMS
from crossmodal.reporting.scorecard_text import RULE, Test, legend, tally
from crossmodal.reporting.site import (
    facts_of,
    number_rows,
    read_deviations,
    to_html,
)
from crossmodal.reporting.tables import COLUMNS
from crossmodal.workflow.jobs import CURVES
from crossmodal.workflow.records import verified
from crossmodal.workflow.report_specs import SiteExperiment, SiteSpec

CLAIMS, FOREST = "tables/claims.csv", "figures/claims.svg"


def site(spec: SiteSpec, output: Path, deviations: Path) -> None:
    """Write the page of the claims, tables, curves and facts of a suite.

    Args:
        spec: The suite, its tables and experiments.
        output: The page, in a folder beside those of tables, curves, runs and examples.
        deviations: docs/deviations.md.

    Raises:
        CrossmodalError: If a result is missing or corrupt, or changed since it was made.
    """
    results = output.parents[1]
    verified(_inputs(spec, results))
    decisions = read_deviations(deviations.read_text(encoding="utf-8"))
    numbers = [
        number
        for name in spec.tables
        for number in number_rows(name, read_csv(_table(results, name), COLUMNS))
    ]
    content: dict[str, object] = {
        "claims": _claims(results),
        "tables": {name: table.model_dump() for name, table in spec.tables.items()},
        "numbers": numbers,
        "experiments": {
            name: _experiment(results, name, experiment)
            for name, experiment in spec.experiments.items()
        },
        "deviations": decisions,
    }
    write_text(output, to_html(f"crossmodal: {spec.suite}", content))


def _inputs(spec: SiteSpec, results: Path) -> list[Path]:
    """Return all results that the page shows."""
    tables = [_table(results, name) for name in spec.tables]
    runs = [path for name, e in spec.experiments.items() for path in _runs(results, name, e.seeds)]
    curves = [_curve(results, kind, name) for name in spec.experiments for kind in CURVES]
    return [results / CLAIMS, results / FOREST, *tables, *runs, *curves]


def _claims(results: Path) -> dict[str, object]:
    """Return the scorecard of claims, and its forest plot as an address."""
    rows = read_csv(results / CLAIMS, COLUMNS_OF_CLAIMS)
    tests = (Test(row["paper"], row["claim"], row["verdict"], row["marks"]) for row in rows)
    plot = base64.b64encode((results / FOREST).read_bytes()).decode()
    return {
        "rows": rows,
        "tally": tally(tests),
        "rule": RULE.replace("**", ""),
        "legend": legend(MARKS),
        "forest": f"data:image/svg+xml;base64,{plot}",
    }


def _table(results: Path, name: str) -> Path:
    """Return the file of a table's numbers."""
    return results / f"tables/{name}.csv"


def _runs(results: Path, name: str, seeds: list[int]) -> list[Path]:
    """Return the metrics of all seeds of an experiment."""
    return [results / f"runs/{name}/seed{seed}.json" for seed in seeds]


def _curve(results: Path, kind: str, name: str) -> Path:
    """Return the curve of an experiment, averaged over its seeds."""
    return results / f"curves/{kind}/{name}.csv"


def _experiment(results: Path, name: str, spec: SiteExperiment) -> dict[str, object]:
    """Return all that the page shows of an experiment, but its numbers."""
    runs = [read_metrics(path) for path in _runs(results, name, spec.seeds)]
    return {
        **spec.model_dump(),
        **facts_of(runs),
        "curves": {
            kind: [
                [float(value) if value else None for value in row.values()]
                for row in read_csv(_curve(results, kind, name), [])
            ]
            for kind in CURVES
        },
        "examples": f"../examples/{name}.html",
    }
