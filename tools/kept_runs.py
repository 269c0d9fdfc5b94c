"""The runs behind the quoted tables, which docs/runs/ keeps: a file an experiment, a line a run.

Tables that take days are run in parts, on several machines; so a quoted table is made of the runs
in results/ and of those that were kept before. A run is kept with the digest of all that
params.yaml says of its method, features and dataset, and dropped once that has changed: its row
is empty then, until it is run again.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from crossmodal.config.fit import Fit
from crossmodal.config.params import Params
from crossmodal.io.files import read_json, write_json, write_text
from crossmodal.models.earlier_options import current_options
from crossmodal.steps.tabulate import tabulate
from crossmodal.workflow.jobs import Jobs
from crossmodal.workflow.report_specs import TabulateSpec

UNREAD = ("precision_scope", "precision_by_chance")  # tables show no curves


def kept(experiment: str) -> Path:
    """File of an experiment's runs, of whichever tables."""
    return Path(f"docs/runs/{experiment}.json")


def make_table(params: Params, name: str) -> str | None:
    """A table as Markdown, of the runs that lie in results/ and of those kept; None without any."""
    runs = _runs(params, name)
    if not runs:
        return None
    spec = TabulateSpec.from_json(Jobs(params).tabulate(SimpleNamespace(table=name)))
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        paths = [folder / path for path in runs]
        for path, run in zip(paths, runs.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, run)
        tabulate(spec, folder / f"{name}.md", folder / f"{name}.csv", paths)
        return (folder / f"{name}.md").read_text(encoding="utf-8")


def never_kept(params: Params, name: str) -> set[str]:
    """Labels of a table's rows of which some run is not here and was never kept."""
    there = {*_runs(params, name)}.union(*map(_before, _experiments(params, name)))
    return {
        params.experiments[_experiment(path)].row()
        for path in _paths(params, name)
        if path not in there
    }


def keep(params: Params, name: str) -> None:
    """Keep the runs of a table that lie in results/, beside the earlier ones that still count."""
    found = _runs(params, name)
    for experiment in _experiments(params, name):
        runs = _counting(params, experiment)
        runs |= {path: run for path, run in found.items() if _experiment(path) == experiment}
        if runs:
            write_runs(kept(experiment), runs)
        else:
            kept(experiment).unlink(missing_ok=True)


def write_runs(file: Path, runs: dict[str, dict[str, Any]]) -> None:
    """Write runs by path, a line each."""
    lines = (f"{json.dumps(p)}: {json.dumps(runs[p], sort_keys=True)}" for p in sorted(runs))
    write_text(file, "{\n" + ",\n".join(lines) + "\n}\n")


def _runs(params: Params, name: str) -> dict[str, dict[str, Any]]:
    """Runs of a table by path: those that lie in results/, else those kept."""
    before: dict[str, dict[str, Any]] = {}
    for experiment in _experiments(params, name):
        before |= _counting(params, experiment)
    found = {}
    for path in _paths(params, name):
        if Path(path).exists():
            run = {k: v for k, v in read_json(path).items() if k not in UNREAD}
            found[path] = {"of": params.described(_experiment(path))} | run
        elif path in before:
            found[path] = before[path]
    # a run that is also read out by class posteriors counts with both
    missing = {Path(path).parts[-2:] for path in _paths(params, name) if path not in found}
    return {path: run for path, run in found.items() if Path(path).parts[-2:] not in missing}


def _paths(params: Params, name: str) -> list[str]:
    """Runs of a table as the workflow makes them."""
    return Jobs(params).table_runs(SimpleNamespace(table=name))


def _experiments(params: Params, name: str) -> set[str]:
    """The experiments of a table."""
    return {_experiment(path) for path in _paths(params, name)}


def _experiment(path: str) -> str:
    """The experiment of a run."""
    return Path(path).parent.name


def _counting(params: Params, experiment: str) -> dict[str, dict[str, Any]]:
    """Kept runs of an experiment of which params.yaml still says the same."""
    of, fit, before = params.described(experiment), params.fit(experiment), _before(experiment)
    return {p: run for p, run in before.items() if run["of"] == of and _had_options(run, fit)}


def _had_options(run: dict[str, Any], fit: Fit) -> bool:
    """Whether a run had the method's options of today: the digest leaves out the defaults."""
    had = current_options(fit.plugin, run["model"]["options"])
    stated = {name: value for name, value in fit.options.items() if name not in fit.search}
    return all(had.get(name, value) == value for name, value in stated.items())


def _before(experiment: str) -> dict[str, dict[str, Any]]:
    """Runs of an experiment that were kept, whatever params.yaml says now."""
    return read_json(kept(experiment)) if kept(experiment).exists() else {}
