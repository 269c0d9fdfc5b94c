"""The scorecard of the papers' claims: what they report, what runs measure, and a verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from crossmodal.config.claims import Comparison, Starts
from crossmodal.config.published_numbers import STARTS
from crossmodal.reporting.costs import TIME
from crossmodal.reporting.estimates import Estimate, comparable, difference
from crossmodal.reporting.item_draws import Draws
from crossmodal.reporting.rows import metrics_of, with_decimals
from crossmodal.reporting.run_metrics import RunMetrics
from crossmodal.reporting.tables import LOWER_IS_BETTER
from crossmodal.reporting.verdicts import (
    NOT_RUN,
    OPEN,
    Verdict,
    share_interval,
    verdict,
    verdict_of_starts,
)
from crossmodal.workflow.report_specs import Claimed

POINTS = {"mAP": 100, "rsum": 1 / 6}  # percentage points of one: of mAP, of the mean recall
MARKS = {
    "¹": "a row has one seed, so that the interval leaves out the seeds",
    "²": "no values per query, so that the interval leaves out the test items and is too narrow",
    "†": "fitted by code that has changed since",
}
ONE_SEED, SEEDS_ALONE, EARLIER = MARKS


@dataclass(frozen=True)
class Run:
    """A run of an experiment.

    Args:
        metrics: From `evaluate`.
        draws: Bootstrap draws of its numbers; empty without values per query.
    """

    metrics: RunMetrics
    draws: Draws


Runs = Mapping[str, Mapping[int, Run]]  # by experiment and seed


@dataclass(frozen=True)
class Entry:
    """A claim, and what runs on one dataset say of it.

    Args:
        claim: The claim.
        reported: What the paper reports.
        verdict: By the rule of its kind.
        dataset: Of the runs; empty, as all that follows, where there are none.
        experiment: The better one, or the first that is counted.
        rows: The rows that are compared, or counted.
        value: Difference of the rows, or share of runs that start.
        interval: Its 95 % interval, where there is one.
        measured: The value and its interval, as text.
        marks: Of `MARKS`.
    """

    claim: Comparison | Starts
    reported: str
    verdict: Verdict
    dataset: str = ""
    experiment: str = ""
    rows: str = ""
    value: float | None = None
    interval: tuple[float, float] | None = None
    measured: str = ""
    marks: str = ""

    @property
    def metric(self) -> str:
        """Name of what is compared."""
        return self.claim.metric if isinstance(self.claim, Comparison) else STARTS

    @property
    def points(self) -> tuple[float, float, float] | None:
        """Difference and interval in percentage points; None of other quantities."""
        if self.value is None or self.interval is None or self.metric not in POINTS:
            return None
        value, low, high = (POINTS[self.metric] * v for v in (self.value, *self.interval))
        return value, low, high


def judge(
    claim: Comparison | Starts, experiments: Mapping[str, Claimed], runs: Runs
) -> list[Entry]:
    """Return an entry for each dataset, or pair of rows, that was run; one without any.

    Args:
        claim: The claim.
        experiments: Facts of the experiments by name.
        runs: Their runs; an experiment may be missing.
    """
    entry = Entry(claim, _reported(claim), Verdict(NOT_RUN))
    groups = [group for group in claim.measured if all(name in runs for name in group)]
    if isinstance(claim, Starts):
        return [_counted(claim, entry, group, experiments, runs) for group in groups] or [entry]
    return [_compared(claim, entry, group, experiments, runs) for group in groups] or [entry]


def _reported(claim: Comparison | Starts) -> str:
    if isinstance(claim, Starts):
        parts = [f"{number:.0f} of 5 {dataset}" for dataset, number in claim.published()]
    else:
        sign = _sign(claim.metric)
        parts = [
            f"{with_decimals(claim.metric, sign * value, '+')} {dataset}"
            for dataset, value in claim.published()
        ]
    return ", ".join(parts) or "no number"


def _sign(metric: str) -> int:
    return -1 if metric in LOWER_IS_BETTER else 1


def _compared(
    claim: Comparison,
    entry: Entry,
    pair: Sequence[str],
    experiments: Mapping[str, Claimed],
    runs: Runs,
) -> Entry:
    """Return what the runs of a better and a worse experiment say."""
    # of times the lower is better: the worse minus the better is what is saved
    first, second = pair if _sign(claim.metric) > 0 else reversed(pair)
    estimates = [_estimate(claim, experiments[name], runs[name]) for name in (first, second)]
    if not comparable(*estimates):
        estimates = [replace(estimate, draws={}) for estimate in estimates]
    measured = difference(*estimates)
    one = next(iter(runs[first].values())).metrics
    judged = verdict(measured, one["test_items"])
    devices = sorted({_device(run) for name in pair for run in runs[name].values()})
    rows = f"{experiments[first].label} − {experiments[second].label}"
    if claim.metric == TIME:
        rows = f"{rows}, {' and '.join(devices)}"
        judged = judged if len(devices) == 1 else Verdict(OPEN, "runs on one device would tell")
    marks = {
        ONE_SEED: measured.count == 1,
        SEEDS_ALONE: measured.items is None and claim.metric != TIME,
        EARLIER: any(experiments[name].earlier for name in pair),
    }
    return replace(
        entry,
        verdict=judged,
        dataset=experiments[first].dataset,
        experiment=pair[0],
        rows=rows,
        value=measured.value,
        interval=measured.interval(),
        measured=_with_interval(claim.metric, measured.value, measured.interval()),
        marks="".join(mark for mark, holds in marks.items() if holds),
    )


def _device(run: Run) -> str:
    return run.metrics["model"]["made"]["device"]


def _estimate(claim: Comparison, facts: Claimed, runs: Mapping[int, Run]) -> Estimate:
    place = claim.direction, claim.metric
    by_seed = {
        seed: metrics_of(run.metrics, [claim.metric])[claim.direction][claim.metric]
        for seed, run in sorted(runs.items())
    }
    draws = {seed: runs[seed].draws[place] for seed in by_seed if place in runs[seed].draws}
    complete = draws if len(draws) == len(by_seed) else {}
    return Estimate(by_seed, complete, facts.deterministic and claim.metric != TIME)


def _with_interval(metric: str, value: float, interval: tuple[float, float] | None) -> str:
    low_high = ", ".join(with_decimals(metric, end, "+") for end in interval or ())
    return with_decimals(metric, value, "+") + (f" [{low_high}]" if interval else "")


def _counted(
    claim: Starts,
    entry: Entry,
    names: Sequence[str],
    experiments: Mapping[str, Claimed],
    runs: Runs,
) -> Entry:
    """Return what the runs of experiments, together, say of a claim of starts."""
    counted = [
        metrics_of(run.metrics, [STARTS])["both"][STARTS] > 0
        for name in names
        for run in runs[name].values()
    ]
    facts = [experiments[name] for name in names]
    return replace(
        entry,
        verdict=verdict_of_starts(sum(counted), len(counted), claim.starts),
        dataset=facts[0].dataset,
        experiment=names[0],
        rows=", ".join(dict.fromkeys(one.label for one in facts)),
        value=mean(counted),
        interval=share_interval(sum(counted), len(counted)),
        measured=f"{sum(counted)} of {len(counted)} start",
        marks=EARLIER if any(one.earlier for one in facts) else "",
    )
