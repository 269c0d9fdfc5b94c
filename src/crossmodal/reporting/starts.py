"""Start of a training, and the similarities at its end.

Vilalta et al. 2019, section 6: a run counts as started if its scores (rsum) on the validation and
the test split are above 10, on 1,000 images with five captions each. Chance is 3.2 there; with
other numbers of items the threshold is moved in proportion to it.
"""

from crossmodal.config.published_numbers import STARTS
from crossmodal.learning.plateau import LEFT, STEPS
from crossmodal.reporting.run_metrics import RunMetrics, Values

THRESHOLD, CHANCE = 10, 3.2
RSUM = "validation rsum"
OUTCOMES = {STARTS, "positives", "negatives", STEPS, LEFT, RSUM}


def outcome(run: RunMetrics) -> Values:
    """Return the outcome of one run.

    Args:
        run: Metrics of the run, as `evaluate` wrote them.

    Returns:
        5 or 0 under `STARTS`, so that the mean over seeds is a number of 5 runs; the rsum of the
        validation items; what `plateau` says; and the row of the last epoch of the learning curve:
        for caption pipelines 'positives' and 'negatives', mean similarities, which are equal after
        a collapse.
    """
    threshold = THRESHOLD / CHANCE * run["controls"]["constant"]["both"]["rsum"]
    validation, test = run["validation"]["both"]["rsum"], run["test"]["both"]["rsum"]
    model = run["model"]
    started = {STARTS: 5.0 * (min(validation, test) > threshold), RSUM: validation}
    return started | model["plateau"] | model["last_epoch"]
