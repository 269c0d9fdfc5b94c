"""Write the site of a suite."""

from pathlib import Path
from typing import Any

from crossmodal.io.files import read_csv, read_json, write_text
from crossmodal.reporting.site import (
    facts_of,
    number_rows,
    papers_of,
    read_deviations,
    sections_for,
    to_html,
)
from crossmodal.reporting.tables import COLUMNS

RESULTS = Path("results")


def publish_site(spec: dict[str, Any], output: Path, deviations: Path) -> None:
    """Write the page of all tables, curves and facts of a suite.

    Args:
        spec: `suite`, its name; `suites`; `papers`, all names; `tables` with title, note and
            retrieval; `experiments` with label, dataset, method, views and the paper whose number
            stands beside.
        output: The page, in a folder beside those of tables, curves, runs and examples.
        deviations: docs/deviations.md.

    Raises:
        CrossmodalError: If a result is missing or corrupt.
    """
    decisions = read_deviations(deviations.read_text(encoding="utf-8"))
    tables = {
        name: {**shown, "papers": papers_of(name, spec["suites"], spec["papers"])}
        for name, shown in spec["tables"].items()
    }
    numbers = [
        number
        for name in tables
        for number in number_rows(name, read_csv(RESULTS / f"tables/{name}.csv", COLUMNS))
    ]
    content = {
        "tables": tables,
        "numbers": numbers,
        "experiments": {
            name: _experiment(name, said, decisions) for name, said in spec["experiments"].items()
        },
        "deviations": decisions,
    }
    write_text(output, to_html(f"crossmodal: {spec['suite']}", content))


def _experiment(name: str, said: dict[str, Any], decisions: dict[str, Any]) -> dict[str, Any]:
    """All that the page shows of an experiment, but its numbers."""
    runs = [read_json(RESULTS / f"runs/{name}/seed{seed}.json") for seed in said["seeds"]]
    return {
        **said,
        **facts_of(runs),
        "sections": sections_for(decisions, said["label"], said["method"], said["dataset"]),
        "curves": {
            kind: [
                [float(value) if value else None for value in row.values()]
                for row in read_csv(RESULTS / f"curves/{kind}/{name}.csv", [])
            ]
            for kind in ("learning", "precision_scope")
        },
        "examples": f"../examples/{name}.html",
    }
