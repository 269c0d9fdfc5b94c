"""All tables of a suite in one page, and their numbers in one file."""

from math import isfinite
from pathlib import Path

from crossmodal.io.files import read_csv, write_json, write_text
from crossmodal.workflow.records import verified

COLUMNS = ["experiment", "direction", "metric", "reproduced"]


def merge(page: Path, metrics: Path, tables: list[Path]) -> None:
    """Write the tables below each other, and their reproduced numbers as JSON.

    Args:
        page: Markdown of all tables.
        metrics: JSON: table -> experiment -> direction -> metric -> mean over the seeds, null where
            it is infinite.
        tables: Markdown of each table, with a CSV of the same name beside it.

    Raises:
        CrossmodalError: If a CSV is missing or corrupt.
    """
    verified([*tables, *(table.with_suffix(".csv") for table in tables)])
    numbers: dict[str, dict[str, dict[str, dict[str, float | None]]]] = {}
    for table in tables:
        for row in read_csv(table.with_suffix(".csv"), COLUMNS):
            if row["experiment"] and row["reproduced"]:
                own = numbers.setdefault(table.stem, {}).setdefault(row["experiment"], {})
                value = float(row["reproduced"])
                values = own.setdefault(row["direction"], {})
                values[row["metric"]] = value if isfinite(value) else None
    write_json(metrics, numbers)
    write_text(page, "\n".join(table.read_text(encoding="utf-8") for table in tables))
