"""A sentence about the searches of a model that was fitted on few pairs."""

from pathlib import Path

import numpy as np

from crossmodal.metrics.resampling import COVERAGE
from crossmodal.reporting.item_draws import item_draws
from crossmodal.reporting.query_values import SUFFIX, read_query_values

FEW = 500  # pairs
DEPTH = "R@10"
RESULTS = Path("results/runs")


def expectation(run: str, pairs: int | None) -> str:
    """Return a sentence on a model that was fitted on few pairs, with its R@10 on test items.

    Args:
        run: `<experiment>/seed<n>` of the model.
        pairs: That it was fitted on, if known.

    Returns:
        The sentence; empty of a model of at least `FEW` pairs.

    Raises:
        CrossmodalError: If the values per query of the run are corrupt.
    """
    if pairs is None or pairs >= FEW:
        return ""
    parts = [f"fitted on {pairs:,} pairs, which teach little"]
    path = RESULTS / f"{run}{SUFFIX}"
    if path.is_file():
        directions = read_query_values(path)
        draws = item_draws({run: directions})[run]
        for direction, queries in directions.items():
            if DEPTH in (metrics := queries.metrics()):
                low, high = np.percentile(draws[direction, DEPTH], COVERAGE)
                query, _, gallery = direction.partition("-to-")
                parts.append(
                    f"by {query}, a relevant {gallery} is among the first ten in "
                    f"{metrics[DEPTH].mean():.0f} % of searches of the test items "
                    f"({low:.0f} to {high:.0f} %)"
                )
    return "; ".join(parts)
