"""Times of ours and of a peer, measured in turns in one process, and the name of the machine."""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import process_time

import torch

UNITS = ("s", 1), ("ms", 1e-3), ("µs", 1e-6)
EXTRA = "`pip install crossmodal-retrieval[benchmarks]`"


@dataclass(frozen=True)
class Row:
    """A comparison.

    Args:
        what: What was measured.
        size: Of the data.
        peer: Name and version of the other program.
        ours: Seconds that ours takes; None if it was not measured.
        theirs: Seconds that the peer takes.
        note: Why the peer is ahead, what differs, or why there is no time.
    """

    what: str
    size: str
    peer: str
    ours: float | None = None
    theirs: float | None = None
    note: str = ""

    def __str__(self):
        times = " ".join(f"{text:>10}" for text in (shown(self.ours), shown(self.theirs)))
        return f"{self.what}, {self.size} | {self.peer} | {times} {self.ratio:>6}  {self.note}"

    @property
    def ratio(self):
        """How many times as long the peer takes, with two digits."""
        if self.ours is None or self.theirs is None:
            return ""
        ratio = self.theirs / self.ours
        return f"{ratio:,.0f}" if ratio >= 9.95 else f"{ratio:#.2g}"


def shown(seconds):
    """Text of a time, with three digits."""
    if seconds is None:
        return ""
    unit, size = next((u, s) for u, s in UNITS if seconds >= s or s == UNITS[-1][1])
    return f"{seconds / size:#.3g}".rstrip(".") + f" {unit}"


def named(package):
    """A package and its version."""
    return f"{package} {version(package)}"


def machine():
    """What names this machine: processor, instructions, cores, memory."""
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text().splitlines() if facts.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{(models or [platform.processor()])[0]}, {torch.backends.cpu.get_cpu_capability()}, "
        f"{os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}"
    )


def in_turns(*works, rounds=3, clock=process_time):
    """Seconds of each in its best round; other work on the machine hits all of them.

    Args:
        works: Functions without arguments.
        rounds: How often each is called.
        clock: Seconds of the processor by default, so that other programs do not count.
    """
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for number, work in enumerate(works):
            start = clock()
            work()
            best[number] = min(best[number], clock() - start)
    return best


def show(rows):
    """Print comparisons as they are made."""
    for row in rows:
        print(row, flush=True)


def not_measured(what, size, peer, needed):
    """A row of a peer that is not there, which says what to install."""
    return Row(what, size, peer, note=f"not measured: {needed}")
