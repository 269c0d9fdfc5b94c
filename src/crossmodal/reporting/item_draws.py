"""Bootstrap draws of all numbers of runs on the same test items."""

import functools
from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from crossmodal.config.published_numbers import Place
from crossmodal.config.table import column
from crossmodal.metrics.resampling import resampled_means
from crossmodal.metrics.retrieval import RECALL_DEPTHS
from crossmodal.reporting.query_values import QueryValues

Key = TypeVar("Key")
Directions = Mapping[str, QueryValues]
Draws = dict[Place, np.ndarray]


def item_draws(runs: Mapping[Key, Directions]) -> dict[Key, Draws]:
    """Return draws (draws,) of each number of each run, by (direction, metric).

    Numbers are those whose means tables show, and the averages and sums of both directions.

    Args:
        runs: Values per query of each run; those on the same items share their draws.
    """
    groups: dict[bytes, list[Key]] = {}
    for key, directions in runs.items():
        items = np.unique(np.concatenate([queries.items for queries in directions.values()]))
        groups.setdefault(items.astype(np.int64).tobytes(), []).append(key)
    draws: dict[Key, Draws] = {}
    for keys in groups.values():
        draws |= _of_same_items({key: runs[key] for key in keys})
    return draws


def _of_same_items(runs: Mapping[Key, Directions]) -> dict[Key, Draws]:
    metrics = {(k, d): q.metrics() for k, run in runs.items() for d, q in run.items()}
    items = {place: runs[place[0]][place[1]].items for place in metrics}
    values = {place: np.stack([*m.values()], axis=1) for place, m in metrics.items()}
    means = resampled_means(items, values)
    draws: dict[Key, Draws] = {key: {} for key in runs}
    for (key, direction), drawn in means.items():
        names = metrics[key, direction]
        draws[key] |= {(direction, m): drawn[:, i] for i, m in enumerate(names)}
    return {key: own | of_both(own, [*runs[key]]) for key, own in draws.items()}


def of_both(draws: Draws, directions: list[str]) -> Draws:
    """Return the average of each mAP and rsum, as `evaluate` averages and sums both directions.

    Args:
        draws: Arrays of one shape by (direction, metric).
        directions: The two directions; of a single one there is nothing.
    """
    if len(directions) == 1:
        return {}
    first, second = directions
    both = {
        ("average", m): (drawn + draws[second, m]) / 2
        for (d, m), drawn in draws.items()
        if d == first and m.startswith("mAP")
    }
    recalls = [(d, f"R@{k}") for d in directions for k in RECALL_DEPTHS]
    if all(place in draws for place in recalls):
        both["both", "rsum"] = functools.reduce(np.add, (draws[place] for place in recalls))
    return both


def in_columns(draws: Draws, by: str) -> Draws:
    """Return the draws under the columns of a readout or of qrels."""
    return {(d, column(m, by)): drawn for (d, m), drawn in draws.items()}
