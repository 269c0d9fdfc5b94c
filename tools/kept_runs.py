"""The runs behind quoted tables and the scorecard, which docs/runs/ keeps.

Tables that take days are run in parts, on several machines; so a quoted table is made of the runs
in results/ and of those that were kept before. An experiment has a file of metrics, a line a run,
and one of values per query. A run is kept with the commit and the hash of the code that fitted it,
and with the digest of all that params.yaml says of its method, features and dataset; it is dropped
once that has changed: its row is empty then, until it is run again.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from commits import commit_of

from crossmodal.config.claims import read_claims
from crossmodal.config.fit import Fit
from crossmodal.config.params import Params
from crossmodal.io.files import read_json, replacing, write_text
from crossmodal.models.earlier_options import current_options
from crossmodal.reporting.query_values import (
    RANK,
    SUFFIX,
    QueryValues,
    read_query_values,
    write_query_values,
)
from crossmodal.steps.claims import claims
from crossmodal.steps.tabulate import tabulate
from crossmodal.workflow.code_hash import code
from crossmodal.workflow.jobs import Jobs
from crossmodal.workflow.report_specs import ClaimsSpec, TabulateSpec

UNREAD = ("precision_scope", "precision_by_chance")  # tables show no curves
CLAIMS = "claims"  # in place of a table's name
Run = dict[str, Any]


def kept(experiment: str) -> Path:
    """File of an experiment's runs, of whichever tables; values per query lie beside it."""
    return Path(f"docs/runs/{experiment}.json")


def make_table(params: Params, name: str) -> str | None:
    """A table as Markdown, of the runs that lie in results/ and of those kept; None without any."""
    runs = _runs(params, _paths(params, name))
    if not runs:
        return None
    spec = TabulateSpec.from_json(Jobs(params).tabulate(SimpleNamespace(table=name)))
    spec.earlier = sorted(_earlier(runs))
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tabulate(spec, folder / f"{name}.md", folder / f"{name}.csv", _write(folder, runs))
        return (folder / f"{name}.md").read_text(encoding="utf-8")


def make_scorecard(params: Params, figure: Path) -> str:
    """The scorecard of claims as Markdown, of all runs here and kept; its plot is written, too."""
    runs = _runs(params, _paths(params, CLAIMS))
    spec = ClaimsSpec(experiments=Jobs(params).claimed(claimed(params)))
    for name in _earlier(runs):
        spec.experiments[name].earlier = True
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        paths = _write(folder, runs)
        claims(spec, folder / "claims.md", folder / "claims.csv", figure, paths)
        return (folder / "claims.md").read_text(encoding="utf-8")


def claimed(params: Params) -> list[str]:
    """Experiments that claims compare."""
    names = {name for claim in read_claims() for group in claim.measured for name in group}
    return sorted(names & params.experiments.keys())


def keep(params: Params, names: Iterable[str]) -> None:
    """Keep the runs, of tables and of claims, that lie here, beside earlier ones that count."""
    paths = {path for name in names for path in _paths(params, name)}
    runs = _runs(params, sorted(paths))
    for experiment in sorted({*map(_experiment, paths)}):
        own = _counting(params, experiment)
        own |= {path: run for path, run in runs.items() if _experiment(path) == experiment}
        queries = {path: values for path in own if (values := _queries(path))}
        if own:
            write_runs(kept(experiment), {path: _with_commit(run) for path, run in own.items()})
        else:
            kept(experiment).unlink(missing_ok=True)
        _write_queries(kept(experiment).with_suffix(".zip"), queries)


def write_runs(file: Path, runs: dict[str, Run]) -> None:
    """Write runs by path, a line each."""
    lines = (f"{json.dumps(p)}: {json.dumps(runs[p], sort_keys=True)}" for p in sorted(runs))
    write_text(file, "{\n" + ",\n".join(lines) + "\n}\n")


def _with_commit(run: Run) -> Run:
    """A run with the commit whose code fitted it."""
    model = run["model"]
    if "commit" in run or "made" not in model:
        return run
    return run | {"commit": commit_of(model["made"]["code"], model["plugin"])}


def _earlier(runs: dict[str, Run]) -> set[str]:
    """Experiments of which some run was fitted by code other than that of today."""
    return {_experiment(path) for path, run in runs.items() if not _is_of_today(run["model"])}


def _is_of_today(model: dict[str, Any]) -> bool:
    if "made" not in model:
        return True
    return model["made"]["code"] == code(
        "crossmodal.steps.train", f"crossmodal.methods.{model['plugin']}"
    )


def _write(folder: Path, runs: dict[str, Run]) -> list[Path]:
    """Write runs, and their values per query, as the workflow has them; return their paths."""
    paths = [folder / path for path in runs]
    for path, (name, run) in zip(paths, runs.items(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(run))  # in one line: indented, thousands take ten seconds
        if values := _queries(name):
            path.with_suffix(SUFFIX).write_bytes(values)
    return paths


def _queries(path: str) -> bytes:
    """Values per query of a run, here or kept, without what tables do not show; empty without."""
    if Path(path).exists():
        file = Path(path).with_suffix(SUFFIX)
        return _reduced(file) if file.exists() else b""
    archive = kept(_experiment(path)).with_suffix(".zip")
    if not archive.exists():
        return b""
    with ZipFile(archive) as opened:
        return opened.read(path) if path in opened.namelist() else b""


def _reduced(file: Path) -> bytes:
    """Values per query without ids and ranks, which are most of them."""
    directions = {
        direction: QueryValues(
            np.full(len(queries.ids), "-"),
            queries.items,
            {name: values for name, values in queries.values.items() if name != RANK},
        )
        for direction, queries in read_query_values(file).items()
    }
    with TemporaryDirectory() as temporary:
        path = Path(temporary) / file.name
        write_query_values(path, directions)
        return path.read_bytes()


def _write_queries(archive: Path, queries: dict[str, bytes]) -> None:
    if not queries:
        archive.unlink(missing_ok=True)
        return
    with replacing(archive) as temporary, ZipFile(temporary, "w", ZIP_STORED) as opened:
        for path in sorted(queries):
            opened.writestr(ZipInfo(path), queries[path])  # of no date: equal runs, equal bytes


def _runs(params: Params, paths: list[str]) -> dict[str, Run]:
    """Runs by path: those that lie in results/, else those kept."""
    before: dict[str, Run] = {}
    for experiment in {*map(_experiment, paths)}:
        before |= _counting(params, experiment)
    runs = {}
    for path in paths:
        if Path(path).exists():
            run = {k: v for k, v in read_json(path).items() if k not in UNREAD}
            runs[path] = {"of": params.described(_experiment(path))} | run
        elif path in before:
            runs[path] = before[path]
    # a run that is also read out by class posteriors counts with both
    missing = {Path(path).parts[-2:] for path in paths if path not in runs}
    return {path: run for path, run in runs.items() if Path(path).parts[-2:] not in missing}


def _paths(params: Params, name: str) -> list[str]:
    """Runs of a table, or of the claims, as the workflow makes them."""
    if name == CLAIMS:
        return Jobs(params).runs_of(claimed(params))
    return Jobs(params).table_runs(SimpleNamespace(table=name))


def _experiment(path: str) -> str:
    """The experiment of a run."""
    return Path(path).parent.name


def _counting(params: Params, experiment: str) -> dict[str, Run]:
    """Kept runs of an experiment of which params.yaml still says the same."""
    if not kept(experiment).exists():
        return {}
    of, fit, before = params.described(experiment), params.fit(experiment), kept(experiment)
    runs = read_json(before).items()
    return {path: run for path, run in runs if run["of"] == of and _had_options(run, fit)}


def _had_options(run: Run, fit: Fit) -> bool:
    """Whether a run had the method's options of today: the digest leaves out the defaults."""
    had = current_options(fit.plugin, run["model"]["options"])
    stated = {name: value for name, value in fit.options.items() if name not in fit.search}
    return all(had.get(name, value) == value for name, value in stated.items())
