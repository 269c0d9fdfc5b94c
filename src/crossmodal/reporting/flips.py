"""Queries that flip: one of two runs answers them, the other one does not."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from crossmodal.learning.method import Direction
from crossmodal.reporting.example_page import to_row, to_table
from crossmodal.reporting.examples import QUERIES, Retrieved
from crossmodal.reporting.html import Showing
from crossmodal.reporting.query_values import QueryValues

Seeds = dict[int, dict[str, QueryValues]]  # values per query of a run, by seed and direction


@dataclass(frozen=True)
class Flips:
    """Ids of the queries of one direction that flip.

    Args:
        metric: Metric that tells whether a query is answered.
        first: Queries whose metric is above a half in the first run alone.
        second: Those of the second run alone.
    """

    metric: str
    first: list[str]
    second: list[str]


def find_flips(runs: Sequence[Seeds], metric: str) -> dict[str, Flips]:
    """Return the queries that flip between two runs, by direction.

    Args:
        runs: Values of the same queries in both runs; the mean over seeds counts.
        metric: As tables name it: 'mAP', 'R@10'.
    """
    flips = {}
    half = 50 if metric.startswith("R@") else 0.5
    for direction, queries in next(iter(runs[0].values())).items():
        first, second = (
            np.mean([values[direction].metrics()[metric] for values in seeds.values()], axis=0)
            > half
            for seeds in runs
        )
        alone = (queries.ids[of].tolist() for of in (first & ~second, second & ~first))
        flips[direction] = Flips(metric, *alone)
    return flips


def to_parts(
    showing: Showing,
    direction: Direction,
    ids: dict[str, list[str]],
    retrieved: Sequence[Retrieved],
    names: Sequence[str],
    flips: Flips,
) -> list[str]:
    """Return headings and tables of the queries that flip, with the results of both models.

    Args:
        showing: Shows items of the dataset.
        direction: Modalities of query and results.
        ids: Of the test split's rows, by modality.
        retrieved: By a seed of each run.
        names: Names of the runs.
        flips: The queries.
    """
    parts = []
    for name, queries in zip(names, (flips.first, flips.second), strict=True):
        rows = [
            to_row(showing, direction, ids, of.example(ids[direction[0]].index(query)), label)
            for query in queries[:QUERIES]
            for of, label in zip(retrieved, names, strict=True)
        ]
        heading = f"{flips.metric} above a half by {escape(name)} alone: {len(queries)} queries"
        parts += [f"<h3>{heading}</h3>", to_table(rows)]
    return parts
