"""The site of a suite: all its numbers, where they come from and what they cost, on one page."""

import json
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from statistics import mean

from crossmodal.config.table import metric_of
from crossmodal.errors import CrossmodalError
from crossmodal.reporting.costs import costs
from crossmodal.reporting.rows import decimals_of
from crossmodal.reporting.run_metrics import Directions, RunMetrics
from crossmodal.reporting.tables import LOWER_IS_BETTER

PAGE = Path(__file__).with_name("site_page")
SCRIPTS = ("elements", "claims", "facts", "tables", "curves", "numbers")  # in their order
NUMBERS = ("published", "reproduced", "spread", "error", "seeds", "difference")
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
BOTH = "both"


def number_rows(table: str, rows: Iterable[dict[str, str]]) -> list[dict[str, object]]:
    """Return the numbers of a table's CSV, null where there is none.

    Args:
        table: Its key.
        rows: Rows of the CSV, see `tables.COLUMNS`.
    """
    return [
        {
            **{name: row[name] for name in ("experiment", "row", "dataset", "direction", "metric")},
            **{name: _number(row[name]) for name in NUMBERS},
            "table": table,
            "lower": metric_of(row["metric"]) in LOWER_IS_BETTER,
            "decimals": decimals_of(row["metric"]),
        }
        for row in rows
    ]


def _number(text: str) -> float | str | None:
    """Return a number; None where there is none, its text where it is infinite, as none of JSON."""
    return text if text == "inf" else float(text) if text else None


def facts_of(runs: list[RunMetrics]) -> dict[str, object]:
    """Return origin and costs of an experiment's numbers, means over its seeds.

    Args:
        runs: Metrics of each seed, from `evaluate`.
    """
    models = [run["model"] for run in runs]
    provenance = models[0]["made"]
    spent = [_flat(costs(run)) for run in runs]
    return {
        "plugin": models[0]["plugin"],
        "options": models[0]["options"],
        "searched": [model["searched"] for model in models],
        "seeds": [model["seed"] for model in models],
        "validation": mean(model["validation"] for model in models),
        "made": {name: provenance[name] for name in ("device", "code", "versions")},
        "costs": {name: mean(each[name] for each in spent) for name in spent[0]},
    }


def _flat(directions: Directions) -> dict[str, float]:
    """Return costs by name, with the direction before it where they are of one."""
    return {
        name if direction == BOTH else f"{direction}: {name}": value
        for direction, part in directions.items()
        for name, value in part.items()
    }


def read_deviations(text: str) -> dict[str, list[list[str]]]:
    """Return the decisions of each section of docs/deviations.md: what, decision, why.

    Args:
        text: Its Markdown.
    """
    _, *parts = HEADING.split(text)
    sections = zip(parts[::2], parts[1::2], strict=True)
    return {heading: _cells(content) for heading, content in sections}


def _cells(content: str) -> list[list[str]]:
    """Return the rows of the Markdown tables in a section, without their headers."""
    lines = [line for line in content.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    after = [i + 1 for i, row in enumerate(cells) if set("".join(row)) <= {"-", ":", "|"}]
    return [row for i, row in enumerate(cells) if i + 1 not in after and i + 2 not in after]


def to_html(title: str, content: dict[str, object]) -> str:
    """Return the page, which needs no other file.

    Args:
        title: Of the page.
        content: What its script shows, as JSON.

    Raises:
        CrossmodalError: If a number is NaN or infinite, which JSON has not.
    """
    try:
        data = json.dumps(content, allow_nan=False, separators=(",", ":"))
    except ValueError as error:
        raise CrossmodalError(f"the site has a number that is none ({error})") from error
    data = data.replace("<", "\\u003c")  # or a caption could end the script
    parts = {path.name: path.read_text(encoding="utf-8") for path in PAGE.iterdir()}
    page = parts["index.html"].replace("{title}", escape(title))
    script = "\n".join(parts[f"{name}.js"] for name in SCRIPTS)
    page = page.replace("{style}", parts["site.css"]).replace("{script}", script)
    return page.replace("{data}", data)
