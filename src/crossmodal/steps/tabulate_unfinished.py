"""Tables of a run in which jobs failed: a row that failed stays empty, and says why."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from crossmodal.steps.merge import merge
from crossmodal.steps.tabulate import tabulate
from crossmodal.workflow.records import disown
from crossmodal.workflow.report_specs import TabulateSpec

ERROR = re.compile(r"^(?:error: |(?=[\w.]*(?:Error|Exception): ))(.+)$", re.MULTILINE)
SILENT = "stopped without a message, as where memory is short"


def tabulate_unfinished(unfinished: Iterable[Any], failed: Collection[Any]) -> list[Path]:
    """Make each table that lacks nothing but failed rows, and the page of all tables.

    They are due all the same: the next run tries the failed jobs again, and makes the tables anew.

    Args:
        unfinished: Jobs of Snakemake that were due and have not run to their end.
        failed: Those of them that failed; the other ones were not started.

    Returns:
        What was made.

    Raises:
        CrossmodalError: If metrics are missing or corrupt.
    """
    waiting = {str(path): job for job in unfinished for path in job.output}
    outputs: list[Path] = []
    for job in _jobs("tabulate", waiting):
        causes = {run: _cause(run, waiting, failed) for run in job.input.runs if run in waiting}
        if causes and all(causes.values()):
            reasons = {Path(run).parent.name: _reason(cause) for run, cause in causes.items()}
            runs = [r for r in map(Path, job.input.runs) if r.parent.name not in reasons]
            output, numbers, latex = map(Path, job.output)
            spec = TabulateSpec.from_json(job.params.spec)
            tabulate(spec.model_copy(update={"failed": reasons}), output, numbers, runs)
            outputs += _due(output, numbers, latex)
    for job in _jobs("merge", waiting):
        tables = [Path(table) for table in job.input.tables]
        if all(table in outputs or str(table) not in waiting for table in tables):
            page, metrics = map(Path, job.output)
            merge(page, metrics, tables)
            outputs += _due(page, metrics)
    return outputs


def _jobs(rule: str, waiting: dict[str, Any]) -> Iterable[Any]:
    return [job for job in dict.fromkeys(waiting.values()) if job.rule.name == rule]


def _cause(path: str, waiting: dict[str, Any], failed: Collection[Any]) -> Any:
    """Return the failed job for which an output is missing; None if it was not started."""
    job = waiting[path]
    if job in failed:
        return job
    needed = (_cause(p, waiting, failed) for p in map(str, job.input) if p in waiting)
    return next(filter(None, needed), None)


def _reason(job: Any) -> str:
    """Return the last error in the log of a failed job."""
    log = Path(job.log[0])
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return [SILENT, *ERROR.findall(text)][-1]


def _due(*outputs: Path) -> tuple[Path, ...]:
    for output in outputs:
        disown(output)
    return outputs
