"""Progress with rate and time left: a bar on a terminal, plain lines in a log."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from rich.console import Console
from rich.filesize import decimal
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

LINE_EVERY_SECONDS = 10.0

Step = TypeVar("Step")


@dataclass(frozen=True)
class _Unit:
    """Unit of progress: amount of a step, format of amounts and rates, column of the bar."""

    amount: Callable[[Any], int]
    write: Callable[[int], str]
    write_rate: Callable[[float], str]
    column: type[ProgressColumn]


_STEPS = _Unit(
    lambda step: 1, str, lambda rate: f"{rate:.{0 if rate >= 10 else 2}f}", MofNCompleteColumn
)
BYTES = _Unit(len, decimal, lambda rate: decimal(round(rate)), DownloadColumn)


def track(
    steps: Iterable[Step], total: int | None, label: str, done: int = 0, unit: _Unit = _STEPS
) -> Iterator[Step]:
    """Yield from `steps`, reporting on stderr how many of `total` are done and the time left.

    Args:
        steps: What remains to be done.
        total: Number of all steps, those already `done` included; None if it is unknown.
        label: What is being done.
        done: Steps that an earlier run finished.
        unit: What is counted, for example `BYTES` of chunks.
    """
    show = _bar if sys.stderr.isatty() else _lines
    return show(steps, total, label, done, unit)


def _bar(
    steps: Iterable[Step], total: int | None, label: str, done: int, unit: _Unit
) -> Iterator[Step]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        unit.column(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(label, total=total, completed=done)
        for step in steps:
            yield step
            progress.advance(task, unit.amount(step))


def _lines(
    steps: Iterable[Step], total: int | None, label: str, done: int, unit: _Unit
) -> Iterator[Step]:
    start = printed = time.monotonic()
    first = done
    for step in steps:
        yield step
        done += unit.amount(step)
        now = time.monotonic()
        if now - printed >= LINE_EVERY_SECONDS or done == total:
            printed = now
            rate = (done - first) / max(now - start, 1e-9)  # a clock may not tick between steps
            line = f"{label}: {unit.write(done)}"
            line += f"/{unit.write(total)}" if total else ""
            line += f", {unit.write_rate(rate)}/s"
            if total and rate:
                line += f", {timedelta(seconds=round((total - done) / rate))} left"
            print(line, file=sys.stderr, flush=True)
