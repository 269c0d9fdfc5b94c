"""Estimate the jobs, hours, memory and disk of a suite, by phase."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace

from crossmodal.config.grids import combinations
from crossmodal.config.params import Params, read
from crossmodal.config.workflow_files import program
from crossmodal.data.prepared import FILES, is_prepared
from crossmodal.errors import CrossmodalError, unknown
from crossmodal.io.text_table import print_table
from crossmodal.workflow.job_costs import Cost
from crossmodal.workflow.jobs import Jobs
from crossmodal.workflow.requests import Requests

COLUMNS = (
    "phase",
    "jobs",
    "done",
    "processor hours",
    "measured (%)",
    "or GPU hours",
    "peak memory (GB)",
    "disk (GB)",
    "there (GB)",
)
TARGETS = {
    "acquire": "acquired",
    "prepare": "prepared",
    "extract": "extracted",
    "train": "trained",
    "evaluate": "evaluated",
    "total": "results/tables/all.md",
}


@dataclass(frozen=True)
class Job:
    """A job of a suite.

    Args:
        cost: Its cost.
        outputs: Files that it writes; the job is done if all of them exist.
        gpus: Number of GPUs.
        share: Fraction of the cost, below 1 for a fit without a search of options.
    """

    cost: Cost
    outputs: tuple[Path, ...]
    gpus: int = 0
    share: float = 1.0

    @property
    def done(self) -> bool:
        """Return whether all outputs exist."""
        return all(path.exists() for path in self.outputs)

    @property
    def processor_hours(self) -> float:
        """Return the hours on one processor."""
        return self.share * self.cost.seconds / 3600

    @property
    def gpu_hours(self) -> float:
        """Return the hours on a GPU; 0 for jobs without a GPU or without a measurement on one."""
        return self.share * (self.cost.gpu_seconds or 0) / 3600 if self.gpus else 0


@dataclass(frozen=True)
class Phase:
    """Cost of the jobs of a phase that are not done.

    Args:
        jobs: Number of all jobs.
        done: Number of those whose outputs exist.
        processor_hours: Time of the others on one processor each.
        measured: Percentage of that time that was measured, not estimated.
        gpu_hours: Of jobs that use GPUs, their time on them.
        memory_gb: Peak of the largest.
        disk_gb: Outputs of all jobs.
        there_gb: Outputs that exist.
    """

    jobs: int
    done: int
    processor_hours: float
    measured: float
    gpu_hours: float
    memory_gb: float
    disk_gb: float
    there_gb: float

    @classmethod
    def of(cls, jobs: Sequence[Job]) -> "Phase":
        """Return the sums and maxima of some jobs."""
        todo = [job for job in jobs if not job.done]
        files = {path for job in jobs for path in job.outputs if path.is_file()}
        hours = sum(job.processor_hours for job in todo)
        measured = sum(job.processor_hours for job in todo if job.cost.is_measured)
        return cls(
            len(jobs),
            len(jobs) - len(todo),
            hours,
            100 * measured / hours if hours else 100.0,
            sum(job.gpu_hours for job in todo),
            max((job.cost.memory_mb for job in todo), default=0) / 1000,
            sum(job.cost.disk_mb for job in jobs) / 1000,
            sum(path.stat().st_size for path in files) / 1e9,
        )


def plan(suite: str | None, as_json: bool, path: Path, overlays: Sequence[Path] = ()) -> None:
    """Print what a suite of params.yaml needs, by phase and in total.

    Raises:
        CrossmodalError: If there is no such suite.
    """
    params = read(path, *overlays)
    params.suite = suite = suite or params.suite
    if suite not in params.suites:
        raise CrossmodalError(f"suites: {unknown(suite, params.suites)}")
    estimates = phases(params)
    if as_json:
        print(json.dumps({name: asdict(phase) for name, phase in estimates.items()}, indent=2))
        return
    print_table(f"suite {suite}, expected", COLUMNS, table_rows(estimates))
    for name, target in TARGETS.items():
        print(f"{name}: {program()} --cores all --config suite={suite} -- {target}")


def table_rows(estimates: dict[str, Phase]) -> list[tuple[str, ...]]:
    """Return a row of `COLUMNS` for each phase."""
    numbers = {name: asdict(phase).values() for name, phase in estimates.items()}
    return [
        (name, *(f"{v:,.1f}" if isinstance(v, float) else str(v) for v in values))
        for name, values in numbers.items()
    ]


def phases(params: Params) -> dict[str, Phase]:
    """Return each phase of the suite that `params.suite` names, and all of them together."""
    jobs, requests = Jobs(params), Requests(params)
    by_phase = {
        "acquire": list(_downloads(jobs, requests)),
        "prepare": [_prepare(requests, name) for name in jobs.datasets()],
        "extract": [job for pair in _extractions(jobs) for job in _extract(requests, *pair)],
        "train": list(_fits(requests, jobs.experiments())),
        "evaluate": list(_evaluations(jobs, requests)),
    }
    by_phase["total"] = [job for part in by_phase.values() for job in part]
    return {name: Phase.of(part) for name, part in by_phase.items()}


def _downloads(jobs: Jobs, requests: Requests) -> Iterator[Job]:
    """Yield a job for the published files of each plug-in, which its datasets share.

    If all of these are prepared, only existing files count.
    """
    plugins: dict[str, list[str]] = {}
    for name in jobs.datasets():
        plugins.setdefault(jobs.params.plugin("datasets", name)["plugin"], []).append(name)
    for plugin, names in plugins.items():
        sources = jobs.params.dataset_of(names[0]).sources
        files = tuple(Path("data/raw", plugin, source.file) for source in sources)
        size = requests.costs.of("download", plugin).disk_mb
        if all(map(is_prepared, names)):
            files = tuple(path for path in files if path.exists())
            size = sum(path.stat().st_size for path in files) / 1e6
        if files:
            yield Job(Cost(seconds=0, memory_mb=0, disk_mb=size, origin="measured"), files)


def _prepare(requests: Requests, dataset: str) -> Job:
    files = tuple(Path("data/prepared", dataset, file) for file in FILES)
    return Job(requests.costs.of("prepare", dataset), files)


def _extractions(jobs: Jobs) -> list[tuple[str, str]]:
    """Return dataset and feature of each extraction, with those that features are computed from."""
    extractions: dict[tuple[str, str], None] = {}

    def add(dataset: str, feature: str) -> None:
        for source in jobs.params.feature_of(feature).of:
            add(dataset, source)
        extractions[dataset, feature] = None

    for name in jobs.experiments():
        spec = jobs.params.experiments[name]
        for feature in spec.views.values():
            add(spec.dataset, feature)
    return list(extractions)


def _extract(requests: Requests, dataset: str, feature: str) -> Iterator[Job]:
    """Yield the job of a feature, or of each of its parts, which are removed when it is there."""
    name, outputs = f"{dataset}/{feature}", (Path("features", dataset, f"{feature}.h5"),)
    whole, gpus = requests.cost("extract", name), requests.gpus("extract", feature)
    jobs = requests.params.jobs_of(feature)
    if jobs == 1:
        yield Job(whole, outputs, gpus)
        return
    part = requests.cost("extract_part", name).model_copy(update={"disk_mb": 0})
    yield from [Job(part, outputs, gpus)] * jobs
    join = requests.cost("join_parts", name).model_copy(update={"disk_mb": whole.disk_mb})
    yield Job(join, outputs)


def _fits(requests: Requests, experiments: list[str]) -> Iterator[Job]:
    """Yield training and embedding of each experiment and seed."""
    params, costs = requests.params, requests.costs
    for name in experiments:
        for seed in params.seeds_of(name):
            model = Path("models", name, f"seed{seed}", "model.safetensors")
            fit, share = costs.of("train", name), _share(params, name, seed)
            yield Job(fit, (model,), requests.gpus("train", name), share)
            embeddings = Path("embeddings", name, f"seed{seed}.h5")
            yield Job(costs.of("embed", name), (embeddings,), requests.gpus("embed", name))


def _evaluations(jobs: Jobs, requests: Requests) -> Iterator[Job]:
    """Yield the evaluation of each run that the suite's tables show."""
    runs = (run for name in jobs.suite for run in jobs.table_runs(SimpleNamespace(table=name)))
    for run in dict.fromkeys(runs):
        experiment = Path(run).parent.name
        cost = requests.costs.of("evaluate", experiment)
        yield Job(cost, (Path(run),), requests.gpus("evaluate", experiment))


def _share(params: Params, experiment: str, seed: int) -> float:
    """Return the share of the searched combinations that a seed fits."""
    fit = params.fit(experiment)
    return 1 / len(combinations(fit.search)) if seed and fit.searched_by else 1
