"""Curves of an experiment, averaged over its seeds."""

from collections.abc import Iterable
from statistics import mean, stdev

from crossmodal.learning.curve import LearningCurve
from crossmodal.reporting.run_metrics import RunMetrics

LEARNING = ["step", "validation", "loss", "seconds"]
# begin further columns, such as of one direction
FURTHER = ("alpha", "epoch", "gap", "validation ", "seconds ")
PRECISION = ["scope", "precision"]  # and one per direction, with its spread and chance
SPREAD, CHANCE = "spread ", "chance "  # begin columns: over the seeds, of random scores


def learning_columns(curves: list[LearningCurve]) -> list[str]:
    """Return `LEARNING`, further columns of learning curves that figures draw, and spreads."""
    logged = dict.fromkeys(name for curve in curves for row in curve.root for name in row)
    columns = LEARNING + [name for name in logged if name.startswith(FURTHER)]
    return columns + [f"{SPREAD}{name}" for name in columns if name.startswith(LEARNING[1])]


def learning_curve(curves: list[LearningCurve], runs: list[RunMetrics]) -> list[list[float | str]]:
    """Return rows of `learning_columns`: score on the validation split, loss and time by step.

    Args:
        curves: Learning curve of each seed; `step`, or else the first column, counts (steps of the
            optimiser, triplets). A seed whose training is not over at a step counts with its steps
            so far.
        runs: Metrics of each seed, for methods that do not look at the validation split while they
            learn: their fit is step 0.
    """
    rows: dict[float, list[dict[str, float]]] = {}
    for curve in curves:
        for row in curve.root:
            if "validation" in row:
                step = row.get("step", next(iter(row.values())))
                rows.setdefault(step, []).append(row)
    if not rows:
        rows[0] = [{"validation": run["model"]["validation"]} for run in runs]
    columns = learning_columns(curves)[1:]
    return [
        [step, *(_over_seeds(seeds, name) for name in columns)]
        for step, seeds in sorted(rows.items())
    ]


def precision_curve(runs: list[RunMetrics]) -> dict[str, list[float | str]]:
    """Return the precision among the first documents: columns of `PRECISION` and directions.

    Args:
        runs: Metrics of each seed.
    """
    curves = [curve for run in runs for curve in run["precision_scope"].values()]
    scopes = sorted(set.intersection(*(set(curve) for curve in curves)))
    columns: dict[str, list[float | str]] = {"scope": [*scopes]}
    columns["precision"] = [mean(curve[scope] for curve in curves) for scope in scopes]
    for direction, chance in runs[0]["precision_by_chance"].items():
        own = [run["precision_scope"][direction] for run in runs]
        columns[direction] = [mean(curve[scope] for curve in own) for scope in scopes]
        columns[SPREAD + direction] = [_spread([curve[scope] for curve in own]) for scope in scopes]
        columns[CHANCE + direction] = [chance] * len(scopes)
    return columns


def _over_seeds(rows: Iterable[dict[str, float]], name: str) -> float | str:
    """Return the mean of a column, or the spread of one of spreads; empty without values."""
    column = name.removeprefix(SPREAD)
    values = [row[column] for row in rows if column in row]
    if name.startswith(SPREAD):
        return _spread(values)
    return mean(values) if values else ""


def _spread(values: list[float]) -> float | str:
    """Return the standard deviation over seeds; empty where there is one."""
    return stdev(values) if len(values) > 1 else ""
