"""Summary of a run of the workflow."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta


def summary(ran: Iterable[str], jobs: int, seconds: float, targets: Sequence[str]) -> str:
    """Return what ran, what was there already, the time, and the results to look at.

    Args:
        ran: Rule of each job that ran.
        jobs: Number of all jobs that the targets need.
        seconds: How long it took.
        targets: Files that were asked for.
    """
    rules = Counter(ran)
    there = jobs - rules.total()
    parts = ", ".join(f"{count} {rule}" for rule, count in rules.items())
    lines = [f"jobs run in {timedelta(seconds=round(seconds))}: {parts or 'none'}"]
    lines[0] += f"; done already: {there}" if there else ""
    if results := [target for target in targets if target.startswith("results/")]:
        lines.append(f"look at {', '.join(results[:5])}{' ...' * (len(results) > 5)}")
    return "\n".join(lines)
