"""Faults in a small workflow: after each one, the same command ends with the bytes of an
undisturbed run, and nothing is lost.

A job is a fresh process with the arguments that Snakemake gives it, forked from one that has
imported the libraries already; a workflow is Snakemake with all its jobs. Times and memory in
model.json are not compared. A full disk and a read-only folder need the right to mount; without it
they are left out, and the table says so.

Run: PYTHONPATH=. python benchmarks/faults.py --state faults.json
  --only kill_extract full_disk   some of the faults
  --times 5                       how often, instead of as often as the table should say
  --page docs/faults.md           writes that page
What the state file has counted is not done again, so the campaign can be stopped at any time.
"""

import argparse
import inspect
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import damage, faults_in_jobs, faults_in_workflows, power_cuts
from crossmodal.io.files import read_json, write_json
from tests import test_fuzz

CASES = 10_000  # mutated files
ROOT = Path(__file__).parents[1]
IN_JOBS = faults_in_jobs.FAULTS | power_cuts.FAULTS | damage.IN_JOBS
IN_WORKFLOWS = faults_in_workflows.FAULTS | damage.IN_WORKFLOWS
FAULTS = (*IN_JOBS, *IN_WORKFLOWS, "mutated_inputs")

HEAD = (
    "# Faults\n\n"
    "What happens to results when a run is killed, the disk is full or a file is damaged. Each "
    "fault was injected into a small workflow; the table counts after how many of them the same "
    "command ended with the bytes of an undisturbed run, apart from times: nothing was lost, and "
    "no half-written file was used. Where the disk was the fault, the "
    "message also had to say so; where a bit was flipped in an output, it could name the file, and "
    "the command ended right after that was deleted. Written by `PYTHONPATH=. python "
    "benchmarks/faults.py --page docs/faults.md`.\n\n"
)
SECTION = "\n## The server\n\n"  # of the page, by benchmarks/serve.py


@dataclass
class Count:
    """What came of one kind of fault.

    Args:
        times: Faults that struck.
        same: Of these, after how many the bytes were those of an undisturbed run.
        note: Why there are none, or what differed first.
    """

    times: int = 0
    same: int = 0
    note: str = ""


def mutate(cases: int) -> Count:
    """Files with one to eight random changes; each is read, or refused with a message."""
    each = -(-cases // len(test_fuzz.KINDS))
    call = [sys.executable, "-m", "pytest", "-q", "-k", "corrupt", "tests/test_fuzz.py"]
    environment = os.environ | {"CROSSMODAL_FUZZ_CASES": str(each)}
    result = subprocess.run(call, cwd=ROOT, env=environment, capture_output=True, text=True)
    count = each * len(test_fuzz.KINDS)
    said = result.stdout.splitlines()[-1]
    return Count(count, 0 if result.returncode else count, said if result.returncode else "")


def described(name: str) -> tuple[str, str]:
    """What a fault is, and what it strikes."""
    if name in IN_JOBS:
        function, where, _ = IN_JOBS[name]
    elif name in IN_WORKFLOWS:
        function, where = IN_WORKFLOWS[name][0], "all jobs"
    else:
        function, where = mutate, "all readers"
    return " ".join(inspect.getdoc(function).split()).rstrip("."), where


def strike(count: Count, fault: Callable[[], str | None], times: int, save: Callable) -> None:
    """Repeat a fault until it struck some times; those that missed do not count."""
    misses = 0
    while count.times < times and misses < 3 * times + 3:
        try:
            failed = fault()
        except PermissionError as error:
            count.note = f"left out: {error}"
            return
        misses += failed is None
        if failed is not None:
            count.times += 1
            count.same += not failed
            count.note = count.note or failed[-500:]
        save()


def campaign(names: list[str], times: int | None, state: Path, folder: Path) -> dict[str, Count]:
    """Counts of some faults; the state file is read first, and written after each of them."""
    counts = {n: Count(**c) for n, c in (read_json(state) if state.exists() else {}).items()}

    def save() -> None:
        write_json(state, {name: vars(count) for name, count in counts.items()})

    jobs = faults_in_jobs.Jobbed(folder) if IN_JOBS.keys() & set(names) else None
    workflow = faults_in_workflows.Workflow(folder) if IN_WORKFLOWS.keys() & set(names) else None
    for name in names:
        count = counts.setdefault(name, Count())
        if name in IN_JOBS:
            function, step, usual = IN_JOBS[name]
            strike(count, lambda f=function, s=step: f(jobs, s), times or usual, save)
        elif name in IN_WORKFLOWS:
            function, usual = IN_WORKFLOWS[name]
            strike(count, lambda f=function: f(workflow), times or usual, save)
        elif count.times < (times or CASES):
            counts[name] = mutate(times or CASES)
        save()
        print(name, *vars(counts[name]).values())
    return counts


def table(counts: dict[str, Count]) -> str:
    """A row for each fault and what it strikes, as Markdown."""
    rows = [
        ("fault", "where", "times", "same bytes after", "note"),
        ("---", "---", "---:", "---:", "---"),
    ]
    for name, count in ((name, counts[name]) for name in FAULTS if name in counts):
        what, where = described(name)
        rows.append((what, where, str(count.times), str(count.same), " ".join(count.note.split())))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--only", nargs="+", choices=FAULTS, default=FAULTS)
    parser.add_argument("--times", type=int)
    parser.add_argument("--state", type=Path, default=Path("faults.json"))
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts = campaign(options.only, options.times, options.state.absolute(), Path(folder))
    print(table(counts))
    if options.page:
        server = options.page.read_text(encoding="utf-8").partition(SECTION)[1:]
        options.page.write_text(HEAD + table(counts) + "".join(server), encoding="utf-8")


if __name__ == "__main__":
    main()
