"""Write a table of published next to reproduced numbers."""

from dataclasses import replace
from pathlib import Path

from crossmodal.config.table import OWN, POSTERIORS, column
from crossmodal.io.files import write_csv, write_text
from crossmodal.reporting.chance import chance
from crossmodal.reporting.item_draws import Draws, in_columns, item_draws
from crossmodal.reporting.latex import to_latex
from crossmodal.reporting.notes import data_remarks, notes
from crossmodal.reporting.query_values import SUFFIX, read_query_values
from crossmodal.reporting.rows import make_rows
from crossmodal.reporting.run_metrics import Directions, RunMetrics, Runs, read_metrics
from crossmodal.reporting.tables import COLUMNS, to_csv, to_markdown
from crossmodal.workflow.records import verified
from crossmodal.workflow.report_specs import TabulateSpec


def tabulate(spec: TabulateSpec, output: Path, numbers: Path, paths: list[Path]) -> None:
    """Write the table as Markdown, as CSV and, beside it, as LaTeX.

    Args:
        spec: The table and the experiments that it shows, as in params.yaml.
        output: Path of the Markdown file; its stem is the table's name.
        numbers: Path of the CSV.
        paths: Metrics of all runs: <experiment>/seed<n>.json, in a folder `posteriors` those by
            class posteriors, in `qrels/<table>/<name>` those by qrels. Errors over test items are
            of the values per query beside them.

    Raises:
        CrossmodalError: If a published row that is asked for does not exist.
    """
    queries = {path: path.with_suffix(SUFFIX) for path in paths}
    verified([*paths, *queries.values()])
    table, experiments = spec.table, spec.experiments
    runs = _runs(paths)
    draws = _draws({path: own for path, own in queries.items() if own.exists()})
    draws = {name: own for name, own in draws.items() if len(own) == len(runs[name])}
    rows = make_rows(table, experiments, runs, spec.deterministic, draws)
    rows = [replace(r, label=f"{r.label} †") if r.experiment in spec.earlier else r for r in rows]
    elsewhere = {name for name, experiment in experiments.items() if experiment.embeddings}
    rows = [replace(r, label=f"{r.label} ‡") if r.experiment in elsewhere else r for r in rows]
    write_csv(numbers, COLUMNS, to_csv(output.stem, rows))
    write_text(numbers.with_suffix(".tex"), to_latex(output.stem, table, rows))
    failed = {experiments[n].row(): why for n, why in spec.failed.items()}
    named = spec.figures | {name: experiment.row() for name, experiment in experiments.items()}
    figures = {} if failed else table.drawn(output.stem, named)
    remarks = [*spec.departures, *data_remarks(experiments, runs), *_missing(failed)]
    remarks += chance(table, experiments, runs)
    remarks += ["† fitted by code that has changed since."] if spec.earlier else []
    remarks += ["‡ embeddings computed elsewhere; nothing was fitted here."] if elsewhere else []
    write_text(output, to_markdown(table, rows, [*remarks, *notes(rows)], figures))


def _missing(failed: dict[str, str]) -> list[str]:
    """Return a remark on the rows that failed, with the reasons."""
    rows = "".join(f"\n- {row}: {why}" for row, why in failed.items())
    text = f"**Incomplete**, and without figures, since these rows failed:\n{rows}"
    return [text] if rows else []


def _runs(paths: list[Path]) -> Runs:
    """Return the metrics of each experiment's runs; those by others are further columns."""
    by_seed: dict[str, dict[str, RunMetrics]] = {}
    for path in sorted(paths, key=_is_further):
        run, by = read_metrics(path), _by(path)
        if by == OWN:
            by_seed.setdefault(path.parent.name, {})[path.stem] = run
            continue
        own = by_seed[path.parent.name][path.stem]
        _add(own["test"], run["test"], by)
        for scorer, metrics in run.get("controls", {}).items():
            _add(own["controls"][scorer], metrics, by)
    return {name: list(runs.values()) for name, runs in by_seed.items()}


def _add(own: Directions, further: Directions, by: str) -> None:
    for direction, metrics in further.items():
        own[direction] |= {column(name, by): value for name, value in metrics.items()}


def _draws(queries: dict[Path, Path]) -> dict[str, dict[int, Draws]]:
    """Return bootstrap draws by experiment and seed, of all readouts that have values per query."""
    drawn = item_draws({path: read_query_values(own) for path, own in queries.items()})
    draws: dict[str, dict[int, Draws]] = {}
    for path in sorted(drawn, key=_is_further):
        seeds = draws.setdefault(path.parent.name, {})
        own = in_columns(drawn[path], _by(path))
        seeds.setdefault(int(path.stem.removeprefix("seed")), {}).update(own)
    return draws


def _by(path: Path) -> str:
    """Return by what the metrics of a run are: their own, class posteriors, or qrels."""
    *_, folder, _, name, _, _ = ("", "", *path.parts)
    return name if folder == "qrels" or name == POSTERIORS else OWN


def _is_further(path: Path) -> bool:
    return _by(path) != OWN
