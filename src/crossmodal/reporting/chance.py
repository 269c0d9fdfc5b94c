"""Sentences on the number of test items of a table, and on the level of chance."""

import re

from crossmodal.config.experiment import Experiment
from crossmodal.config.table import OWN, Table
from crossmodal.reporting.rows import with_decimals
from crossmodal.reporting.run_metrics import RunMetrics, Runs

ERROR = re.compile(r" ± [\d.]+")
FEW = 100  # test items, below which a table warns
SHOWN = ("mAP", "R@10")  # metrics, where the table has them


def chance(table: Table, experiments: dict[str, Experiment], runs: Runs) -> list[str]:
    """Return a paragraph for each dataset and protocol of a table.

    Args:
        table: What the table shows.
        experiments: The table's experiments by name.
        runs: Metrics of each experiment's seeds, from `evaluate` or `evaluate_intra_modal`; an
            experiment without any has no paragraph.
    """
    sentences: dict[str, str] = {}
    for name in table.experiments:
        for run in runs.get(name, [])[:1]:
            sentence = _sentence(table, experiments[name].dataset, run)
            # runs of earlier code have sampled errors of the same chance
            sentences.setdefault(ERROR.sub("", sentence), sentence)
    return [*sentences.values()]


def _sentence(table: Table, dataset: str, run: RunMetrics) -> str:
    spreads = run["spread_of_chance"]
    own = table.metrics if OWN in table.relevance else []
    measured = [m for m in own if all(m in spread for spread in spreads.values())]
    metrics = [m for m in measured if m in SHOWN] or measured[:1]
    parts = [
        f"{metric} {with_decimals(metric, run['controls']['constant'][direction][metric])} ± "
        f"{with_decimals(metric, spread[metric])} {direction}"
        for metric in metrics
        for direction, spread in spreads.items()
    ]
    items = run["test_items"]
    text = f"; chance is {', '.join(parts)}" if parts else ""
    few = f" **Fewer than {FEW} test items: small differences are noise.**" if items < FEW else ""
    return f"`{dataset}`: {items:,} test items{text}.{few}"
