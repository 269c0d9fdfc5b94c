"""Curves of an experiment, averaged over its seeds."""

from collections.abc import Iterable
from statistics import mean
from typing import Any

LEARNING = ["step", "validation", "loss", "seconds"]
PRECISION = ["scope", "precision"]


def learning_curve(
    curves: list[list[dict[str, str]]], runs: list[dict[str, Any]]
) -> list[list[Any]]:
    """Rows of `LEARNING`: what was reached on the validation split after each step, at what loss,
    and the seconds of learning that it took.

    Args:
        curves: Learning curve of each seed; the first column counts (epochs, triplets). A seed
            whose training is not over at a step counts with its steps so far.
        runs: Metrics of each seed, for methods that do not look at the validation split while they
            learn: their fit is step 0.
    """
    rows: dict[float, list[dict[str, str]]] = {}
    for curve in curves:
        for row in curve:
            if "validation" in row:
                rows.setdefault(float(next(iter(row.values()))), []).append(row)
    if not rows:
        return [[0, mean(run["model"]["validation"] for run in runs), "", ""]]
    return [
        [step, *(_mean(row.get(column) for row in found) for column in LEARNING[1:])]
        for step, found in sorted(rows.items())
    ]


def precision_curve(runs: list[dict[str, Any]]) -> list[list[float]]:
    """Rows of `PRECISION`: mean precision of both directions among the first documents.

    Args:
        runs: Metrics of each seed.
    """
    curves = [curve for run in runs for curve in run["precision_scope"].values()]
    scopes = sorted(set.intersection(*(set(curve) for curve in curves)), key=int)
    return [[int(scope), mean(curve[scope] for curve in curves)] for scope in scopes]


def _mean(values: Iterable[str | None]) -> float | str:
    """Mean of the values that are there; empty if none is."""
    found = [float(value) for value in values if value]
    return mean(found) if found else ""
