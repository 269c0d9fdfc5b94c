"""Write the scorecard of the papers' claims: what they report, what runs measure, a verdict."""

from pathlib import Path

from crossmodal.config.claims import read_claims
from crossmodal.io.files import write_csv, write_text
from crossmodal.reporting.draw_forest import draw_forest
from crossmodal.reporting.item_draws import item_draws
from crossmodal.reporting.query_values import SUFFIX, read_query_values
from crossmodal.reporting.run_metrics import read_metrics
from crossmodal.reporting.scorecard import Run, judge
from crossmodal.reporting.scorecard_text import COLUMNS, to_bars, to_csv, to_markdown
from crossmodal.workflow.records import verified
from crossmodal.workflow.report_specs import ClaimsSpec


def claims(spec: ClaimsSpec, page: Path, numbers: Path, figure: Path, paths: list[Path]) -> None:
    """Write the scorecard as Markdown and as CSV, and its forest plot.

    Args:
        spec: The experiments that claims compare.
        page: The Markdown.
        numbers: The CSV.
        figure: The SVG.
        paths: Metrics of the runs of experiments that claims compare, <experiment>/seed<n>.json;
            values per query may lie beside them.

    Raises:
        CrossmodalError: If a file is missing or corrupt.
    """
    queries = {path: path.with_suffix(SUFFIX) for path in paths}
    verified([*paths, *queries.values()])
    drawn = item_draws({p: read_query_values(own) for p, own in queries.items() if own.exists()})
    runs: dict[str, dict[int, Run]] = {}
    for path in paths:
        seed = int(path.stem.removeprefix("seed"))
        runs.setdefault(path.parent.name, {})[seed] = Run(read_metrics(path), drawn.get(path, {}))
    entries = [entry for claim in read_claims() for entry in judge(claim, spec.experiments, runs)]
    write_csv(numbers, COLUMNS, to_csv(entries))
    draw_forest(figure, to_bars(entries), "better minus worse, percentage points")
    write_text(page, to_markdown(entries, figure.name))
