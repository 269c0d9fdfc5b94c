"""Curves of an experiment, averaged over its seeds."""

from collections.abc import Iterable
from statistics import mean, stdev
from typing import Any

from crossmodal.learning.curve import LearningCurve

LEARNING = ["step", "validation", "loss", "seconds"]
# begin further columns, such as of one direction
FURTHER = ("alpha", "epoch", "gap", "validation ", "seconds ")
PRECISION = ["scope", "precision"]  # and one per direction, with its spread and chance
SPREAD, CHANCE = "spread ", "chance "  # begin columns: over the seeds, of random scores


def learning_columns(curves: list[LearningCurve]) -> list[str]:
    """`LEARNING`, what else the learning curves hold that figures draw, and spreads of both."""
    logged = dict.fromkeys(name for curve in curves for row in curve.root for name in row)
    columns = LEARNING + [name for name in logged if name.startswith(FURTHER)]
    return columns + [f"{SPREAD}{name}" for name in columns if name.startswith(LEARNING[1])]


def learning_curve(curves: list[LearningCurve], runs: list[dict[str, Any]]) -> list[list[Any]]:
    """Rows of `learning_columns`: what was reached on the validation split after each step, at what
    loss, the seconds of learning that it took, and what else was logged.

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
        [step, *(_over_seeds(found, name) for name in columns)]
        for step, found in sorted(rows.items())
    ]


def precision_curve(runs: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Precision among the first documents: columns of `PRECISION`, and of each direction.

    Args:
        runs: Metrics of each seed.
    """
    curves = [curve for run in runs for curve in run["precision_scope"].values()]
    scopes = sorted(set.intersection(*(set(curve) for curve in curves)), key=int)
    found: dict[str, list[Any]] = {"scope": [int(scope) for scope in scopes]}
    found["precision"] = [mean(curve[scope] for curve in curves) for scope in scopes]
    for direction, chance in runs[0]["precision_by_chance"].items():
        own = [run["precision_scope"][direction] for run in runs]
        found[direction] = [mean(curve[scope] for curve in own) for scope in scopes]
        found[SPREAD + direction] = [_spread([curve[scope] for curve in own]) for scope in scopes]
        found[CHANCE + direction] = [chance] * len(scopes)
    return found


def _over_seeds(rows: Iterable[dict[str, float]], name: str) -> float | str:
    """Mean of a column, or of one with a spread the spread; empty if no value is there."""
    column = name.removeprefix(SPREAD)
    values = [row[column] for row in rows if column in row]
    if name.startswith(SPREAD):
        return _spread(values)
    return mean(values) if values else ""


def _spread(values: list[float]) -> float | str:
    """Standard deviation over seeds; empty where there is one."""
    return stdev(values) if len(values) > 1 else ""
