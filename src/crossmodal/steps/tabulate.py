"""Write a table of published next to reproduced numbers."""

from pathlib import Path
from typing import Any

from crossmodal.evaluation.tables import COLUMNS, make_rows, to_csv, to_markdown
from crossmodal.files import read_json, write_csv, write_text
from crossmodal.schema import Experiment, Table


def tabulate(spec: dict[str, Any], output: Path, paths: list[Path]) -> None:
    """Write the table as Markdown to `output`, and as CSV beside it.

    Args:
        spec: `table` and the `experiments` that it shows, as in params.yaml.
        output: Path of the Markdown file; its stem is the table's name.
        paths: Metrics of all runs: <experiment>/seed<n>.json.

    Raises:
        CrossmodalError: If a published row that is asked for does not exist.
    """
    table = Table.model_validate(spec["table"])
    experiments = {n: Experiment.model_validate(e) for n, e in spec["experiments"].items()}
    runs: dict[str, list[dict[str, Any]]] = {}
    for path in paths:
        runs.setdefault(path.parent.name, []).append(read_json(path))
    rows = make_rows(table, experiments, runs)
    write_csv(output.with_suffix(".csv"), COLUMNS, to_csv(output.stem, rows))
    write_text(output, to_markdown(output.stem, table, rows))
