"""Whether a training started at all, and how similar everything had become when it ended.

Vilalta et al. 2019, section 6: a run counts as started if its scores (rsum) on the validation and
the test split are above 10, on 1,000 images with five captions each. Chance is 3.2 there; with
other numbers of items the threshold is moved in proportion to it.
"""

from typing import Any

THRESHOLD, CHANCE = 10, 3.2
STARTS = "successful starts of 5"  # the metric's name in published/retrieval.csv


def outcome(run: dict[str, Any]) -> dict[str, float]:
    """What became of one run.

    Args:
        run: Metrics of the run, as `evaluate` wrote them.

    Returns:
        5 or 0 under `STARTS`, so that the mean over seeds is a number of 5 runs; and the row of
        the last epoch of the learning curve: for caption pipelines 'positives' and 'negatives',
        mean similarities, which are equal after a collapse.
    """
    threshold = THRESHOLD / CHANCE * run["controls"]["constant"]["both"]["rsum"]
    lower = min(run[split]["both"]["rsum"] for split in ("validation", "test"))
    return {STARTS: 5.0 * (lower > threshold), **run["model"]["last_epoch"]}
