"""Progress with the time left: a bar on a terminal, plain lines in a log."""

import sys
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

LINE_EVERY_SECONDS = 10.0

Step = TypeVar("Step")


def track(steps: Iterable[Step], total: int, label: str, done: int = 0) -> Iterator[Step]:
    """Yield from `steps`, telling on stderr how many of `total` are done and the time left.

    Args:
        steps: What remains to be done.
        total: Number of all steps, those already `done` included.
        label: What is being done.
        done: Steps that an earlier run finished.
    """
    show = _bar if sys.stderr.isatty() else _lines
    return show(steps, total, label, done)


def _bar(steps: Iterable[Step], total: int, label: str, done: int) -> Iterator[Step]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(label, total=total, completed=done)
        for step in steps:
            yield step
            progress.advance(task)


def _lines(steps: Iterable[Step], total: int, label: str, done: int) -> Iterator[Step]:
    start = shown = time.monotonic()
    for count, step in enumerate(steps, 1):
        yield step
        now = time.monotonic()
        if now - shown >= LINE_EVERY_SECONDS or done + count == total:
            shown = now
            left = (now - start) / count * (total - done - count)
            print(
                f"{label}: {done + count}/{total}, {timedelta(seconds=round(left))} left",
                file=sys.stderr,
                flush=True,
            )
