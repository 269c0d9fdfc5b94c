"""The scorecard of the papers' claims: what they report, what our runs measure, and a verdict."""

from pathlib import Path
from typing import Any

from crossmodal.config.claims import Claim, read_claims, reported_difference
from crossmodal.io.files import read_json, write_csv, write_text
from crossmodal.reporting.estimates import Estimate, comparable, difference
from crossmodal.reporting.figures import Bar, draw_forest
from crossmodal.reporting.item_draws import item_draws
from crossmodal.reporting.query_values import SUFFIX, read_query_values
from crossmodal.reporting.rows import metrics_of, with_decimals
from crossmodal.reporting.verdicts import NOT_RUN, verdict
from crossmodal.workflow.records import verified
from crossmodal.workflow.report_specs import Claimed, ClaimsSpec

COLUMNS = [
    *("paper", "place", "claim", "metric", "reported", "dataset", "better", "worse"),
    *("difference", "low", "high", "verdict", "needed"),
]
RULE = (
    "A claim holds on a dataset if the 95 % interval of better minus worse lies above 0, does not "
    "hold if it lies below, and cannot be told if it contains 0. The interval is over test items "
    "(paired bootstrap) and seeds (paired differences), or over seeds alone where values per query "
    "are missing. Each claim is tested on its own: of 20 ties, one is expected to be told apart."
)


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
    runs: dict[str, dict[int, Any]] = {}
    for path in paths:
        seed = int(path.stem.removeprefix("seed"))
        runs.setdefault(path.parent.name, {})[seed] = read_json(path) | {"drawn": drawn.get(path)}
    rows = [row for claim in read_claims() for row in _rows(claim, spec.experiments, runs)]
    write_csv(numbers, COLUMNS, ([row[name] for name in COLUMNS] for row in rows))
    bars = [
        Bar(f"{row['claim']} ({row['dataset']})", row["ratio"], row["ratios"], row["verdict"])
        for row in rows
        if row["ratios"]
    ]
    draw_forest(figure, bars, "Claims: measured difference in half widths of its 95 % interval")
    write_text(page, _markdown(rows, figure.name))


def _rows(
    claim: Claim, experiments: dict[str, Claimed], runs: dict[str, dict[int, Any]]
) -> list[dict[str, Any]]:
    """Return a line for each pair of experiments that was run; one that says so without any."""
    common = {
        **{name: getattr(claim, name) for name in ("paper", "place", "claim", "metric")},
        "reported": _reported(claim),
        **dict.fromkeys(("dataset", "better", "worse", "difference", "low", "high"), ""),
        **{"verdict": NOT_RUN, "needed": "", "ratio": 0.0, "ratios": None},
    }
    pairs = [pair for pair in claim.measured if all(name in runs for name in pair)]
    return [common | _measured(claim, pair, experiments, runs) for pair in pairs] or [common]


def _reported(claim: Claim) -> str:
    parts = (
        f"{with_decimals(claim.metric, reported_difference(claim, rows), '+')} {rows.dataset}"
        for rows in claim.reported
    )
    return ", ".join(parts)


def _measured(
    claim: Claim,
    pair: list[str],
    experiments: dict[str, Claimed],
    runs: dict[str, dict[int, Any]],
) -> dict[str, Any]:
    """Return what the runs of two experiments say of a claim."""
    better, worse = (_estimate(claim, experiments[name], runs[name]) for name in pair)
    facts = [experiments[name] for name in pair]
    one = next(iter(runs[pair[0]].values()))
    if not comparable(better, worse):
        better, worse = (Estimate(e.by_seed, {}, e.deterministic) for e in (better, worse))
    measured = difference(better, worse)
    judged = verdict(measured, one["test_items"])
    interval = measured.interval()
    half = (interval[1] - interval[0]) / 2 if interval else 0.0
    ratio = measured.value / half if half else 0.0
    return {
        "dataset": facts[0].dataset,
        "better": facts[0].label,
        "worse": facts[1].label,
        "difference": measured.value,
        "low": interval[0] if interval else "",
        "high": interval[1] if interval else "",
        "verdict": judged.word,
        "needed": judged.needed,
        "ratio": ratio,
        "ratios": (ratio - 1, ratio + 1) if half else None,
    }


def _estimate(claim: Claim, facts: Claimed, runs: dict[int, Any]) -> Estimate:
    place = claim.direction, claim.metric
    by_seed = {
        seed: metrics_of(run, [claim.metric])[claim.direction][claim.metric]
        for seed, run in sorted(runs.items())
    }
    drawn = {seed: runs[seed]["drawn"][place] for seed in by_seed if runs[seed]["drawn"]}
    complete = drawn if len(drawn) == len(by_seed) else {}
    return Estimate(by_seed, complete, facts.deterministic)


def _markdown(rows: list[dict[str, Any]], figure: str) -> str:
    parts = ["## Claims of the papers", RULE]
    for paper in dict.fromkeys(row["paper"] for row in rows):
        lines = [
            "| claim | reported | measured on | difference | verdict |",
            "|---|---|---|---|---|",
        ]
        lines += [_line(row) for row in rows if row["paper"] == paper]
        parts.append(f"**{paper}**\n\n" + "\n".join(lines))
    parts.append(f"![Claims of the papers](../figures/{figure})")
    return "\n\n".join(parts) + "\n"


def _line(row: dict[str, Any]) -> str:
    claim = f"{row['claim']} ({row['place']}; {row['metric']})"
    needed = f": {row['needed']}" if row["needed"] else ""
    rows = f"{row['dataset']}: {row['better']} − {row['worse']}" if row["dataset"] else ""
    cells = [claim, row["reported"], rows, _difference(row), row["verdict"] + needed]
    return f"| {' | '.join(cells)} |"


def _difference(row: dict[str, Any]) -> str:
    if row["difference"] == "":
        return ""
    names = ("difference",) if row["low"] == "" else ("difference", "low", "high")
    value, *ends = (with_decimals(row["metric"], row[name], "+") for name in names)
    return f"{value} [{', '.join(ends)}]" if ends else value
