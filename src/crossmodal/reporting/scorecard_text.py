"""The scorecard of the papers' claims as Markdown and as CSV."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from crossmodal.reporting.draw_forest import Bar
from crossmodal.reporting.scorecard import MARKS, SEEDS_ALONE, Entry
from crossmodal.reporting.verdicts import WORDS

COLUMNS = [
    *("paper", "place", "claim", "metric", "reported", "dataset", "experiment", "rows", "measured"),
    *("value", "low", "high", "verdict", "needed", "marks"),
]
RULE = (
    "What is measured is better minus worse, with its 95 % interval. A claim **holds** on a "
    "dataset if the interval lies above 0, **does not hold** if it lies below, and **cannot be "
    "told** if it contains 0; then the test items or seeds are named that would tell the same "
    "difference. The interval is over test items (paired bootstrap, the captions of an image "
    "together) and over seeds (paired differences, Student's t).\n\nA claim of speed compares "
    "the seconds that fits record, worse minus better, over seeds on one device. A claim that a "
    "setting starts holds if the 95 % score interval of the share of runs that start, as the paper "
    "counts starts, lies above one half. Each claim is tested on its own: of 20 differences of 0, "
    "one is expected to be told from 0."
)


class Test(NamedTuple):
    """A test of a claim: what is counted."""

    paper: str
    claim: str
    verdict: str
    marks: str


def to_markdown(entries: Sequence[Entry], figure: str) -> str:
    """Return the scorecard: how many claims hold, the figure, and each claim.

    Args:
        entries: Of all claims, those of a claim together.
        figure: File name of the forest plot.
    """
    marks = [mark for mark in MARKS if any(mark in entry.marks for entry in entries)]
    parts = ["## Claims of the papers", _counts(entries), f"![Forest plot](../figures/{figure})"]
    parts += [RULE, *([legend(marks)] if marks else [])]
    for paper in dict.fromkeys(entry.claim.paper for entry in entries):
        own = [entry for entry in entries if entry.claim.paper == paper]
        claims = dict.fromkeys(entry.claim.claim for entry in own)
        lines = [_line([e for e in own if e.claim.claim == claim]) for claim in claims]
        header = "| claim | reported | measured |\n| --- | --- | --- |"
        parts.append("\n".join([f"**{paper}**\n", header, *lines]))
    return "\n\n".join(parts) + "\n"


def legend(marks: Iterable[str]) -> str:
    """Return what marks mean.

    Args:
        marks: Of `MARKS`.
    """
    return "; ".join(f"{mark} {MARKS[mark]}" for mark in marks) + "."


def tally(tests: Iterable[Test]) -> list[list[str]]:
    """Return how many tests of claims have which verdict: a header, and a line for each paper.

    In parentheses is how many of them are over seeds alone.

    Args:
        tests: Of all claims.
    """
    by_paper: dict[str, list[Test]] = {}
    for test in tests:
        by_paper.setdefault(test.paper, []).append(test)
    lines = [
        [paper, f"{len({test.claim for test in own})}", *(_count(own, word) for word in WORDS)]
        for paper, own in by_paper.items()
    ]
    return [["paper", "claims", *WORDS], *lines]


def _count(tests: Sequence[Test], word: str) -> str:
    marks = [test.marks for test in tests if test.verdict == word]
    alone = sum(SEEDS_ALONE in own for own in marks)
    return f"{len(marks)} ({alone}{SEEDS_ALONE})" if alone else f"{len(marks)}"


def _counts(entries: Sequence[Entry]) -> str:
    header, *lines = (f"| {' | '.join(line)} |" for line in tally(map(_test, entries)))
    return "\n".join([header, "| --- |" + " ---: |" * (1 + len(WORDS)), *lines])


def _test(entry: Entry) -> Test:
    return Test(entry.claim.paper, entry.claim.claim, entry.verdict.word, entry.marks)


def _line(entries: Sequence[Entry]) -> str:
    """Return the line of a claim, with all that was measured of it."""
    first = entries[0]
    claim = f"{first.claim.claim} ({first.claim.place}; {first.metric})"
    return f"| {claim} | {first.reported} | {'<br>'.join(map(_measured, entries))} |"


def _measured(entry: Entry) -> str:
    needed = f" ({entry.verdict.needed})" if entry.verdict.needed else ""
    verdict = f"**{entry.verdict.word}**{entry.marks}{needed}"
    if not entry.dataset:
        return verdict
    return f"{entry.dataset}, `{entry.experiment}`: {entry.rows} {entry.measured} {verdict}"


def to_csv(entries: Sequence[Entry]) -> list[list[object]]:
    """Return the entries as rows of CSV with `COLUMNS`; empty where there is nothing."""
    return [
        [
            *(entry.claim.paper, entry.claim.place, entry.claim.claim, entry.metric),
            *(entry.reported, entry.dataset, entry.experiment, entry.rows, entry.measured),
            "" if entry.value is None else entry.value,
            *(entry.interval or ("", "")),
            *(entry.verdict.word, entry.verdict.needed, entry.marks),
        ]
        for entry in entries
    ]


def to_bars(entries: Sequence[Entry]) -> dict[str, list[Bar]]:
    """Return the bars of the forest plot by paper: differences in percentage points."""
    bars: dict[str, list[Bar]] = {}
    for entry in entries:
        own = bars.setdefault(entry.claim.paper, [])
        if entry.points:
            value, *interval = entry.points
            own.append(
                Bar(entry.claim.claim, value, (interval[0], interval[1]), entry.verdict.word)
            )
    return {paper: own for paper, own in bars.items() if own}
