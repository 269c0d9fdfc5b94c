"""What a suite costs before it runs: jobs, hours, memory and disk of each phase."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from crossmodal.config.grids import combinations
from crossmodal.config.params import Params, read
from crossmodal.data.prepared import FILES, is_prepared
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import read_json
from crossmodal.io.text_table import print_table
from crossmodal.resources.needs import GB, Resources
from crossmodal.workflow.jobs import Jobs

COLUMNS = (
    "phase",
    "jobs",
    "done",
    "processor hours",
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
    "total": "results/tables/all.md",
}


@dataclass(frozen=True)
class Job:
    """A job of a suite.

    Args:
        needs: What it needs.
        outputs: What it makes; the job is done if all of it exists.
        factor: Measured by estimated seconds of finished jobs like it.
    """

    needs: Resources
    outputs: tuple[Path, ...]
    factor: float = 1.0

    @property
    def done(self) -> bool:
        """Whether it need not run."""
        return all(path.exists() for path in self.outputs)

    def hours(self, gpu: bool) -> float:
        """Hours of all its GPUs; or, without, of as many processors."""
        return max(1, self.needs.gpu) * self.factor * self.needs.time(gpu) / 3600


@dataclass(frozen=True)
class Phase:
    """What the jobs of a phase that are not done need together.

    Args:
        jobs: Number of all jobs.
        done: Number of those whose outputs exist.
        processor_hours: Time of the others on one processor each.
        gpu_hours: Of these, the time of jobs that use GPUs, with as many, times their number.
        memory_gb: Peak of the largest.
        disk_gb: Outputs of all jobs.
        there_gb: Outputs that exist.
    """

    jobs: int
    done: int
    processor_hours: float
    gpu_hours: float
    memory_gb: float
    disk_gb: float
    there_gb: float

    @classmethod
    def of(cls, jobs: Sequence[Job]) -> "Phase":
        """The sums and maxima of some jobs."""
        todo = [job for job in jobs if not job.done]
        files = {path for job in jobs for path in job.outputs if path.is_file()}
        return cls(
            len(jobs),
            len(jobs) - len(todo),
            sum(job.hours(gpu=False) for job in todo),
            sum(job.hours(gpu=True) for job in todo if job.needs.gpu),
            max((job.needs.memory for job in todo), default=0) / GB,
            sum(job.needs.disk for job in jobs) / GB,
            sum(path.stat().st_size for path in files) / GB,
        )


def plan(suite: str | None, as_json: bool, path: Path, overlays: Sequence[Path] = ()) -> None:
    """Print what a suite of params.yaml needs, by phase and in total.

    Raises:
        CrossmodalError: If there is no such suite.
    """
    params = read(path, *overlays)
    params.suite = suite = suite or params.suite
    if suite not in params.suites:
        raise CrossmodalError(f"{suite}: no suite; known: {', '.join(params.suites)}")
    found = phases(params)
    if as_json:
        print(json.dumps({name: asdict(phase) for name, phase in found.items()}, indent=2))
        return
    print_table(f"suite {suite}, estimated", COLUMNS, table_rows(found))
    for name, target in TARGETS.items():
        print(f"{name}: snakemake --cores all --config suite={suite} -- {target}")


def table_rows(found: dict[str, Phase]) -> list[tuple[str, ...]]:
    """A row of `COLUMNS` for each phase."""
    return [(name, *_shown(phase)) for name, phase in found.items()]


def phases(params: Params) -> dict[str, Phase]:
    """Each phase of the suite that `params.suite` names, and all of them together."""
    jobs = Jobs(params)
    by_phase = {
        "acquire": list(_downloads(jobs)),
        "prepare": [_prepare(params, name) for name in jobs.datasets()],
        "extract": [_extract(params, *pair) for pair in _extractions(jobs)],
        "train": list(_fits(jobs)),
    }
    by_phase["total"] = [job for part in by_phase.values() for job in part]
    return {name: Phase.of(part) for name, part in by_phase.items()}


def _downloads(jobs: Jobs) -> Iterator[Job]:
    """A job for the published files of each plug-in, which its datasets share; where these are
    prepared, of the files that are there.
    """
    plugins: dict[str, list[str]] = {}
    for name in jobs.datasets():
        plugins.setdefault(jobs.params.plugin("datasets", name)["plugin"], []).append(name)
    for plugin, names in plugins.items():
        dataset = jobs.params.dataset_of(names[0])
        size = dataset.extent().raw + sum(source.bytes or 0 for source in dataset.sources)
        files = tuple(Path("data/raw", plugin, source.file) for source in dataset.sources)
        if all(map(is_prepared, names)):
            files = tuple(path for path in files if path.exists())
            size = sum(path.stat().st_size for path in files)
        if files:
            yield Job(Resources(0, seconds=0, disk=size), files)


def _prepare(params: Params, dataset: str) -> Job:
    files = tuple(Path("data/prepared", dataset, file) for file in FILES)
    return Job(params.needs("prepare", dataset, dataset), files)


def _extractions(jobs: Jobs) -> list[tuple[str, str]]:
    """Dataset and feature of each extraction, with those that features are computed from."""
    found: dict[tuple[str, str], None] = {}

    def add(dataset: str, feature: str) -> None:
        for source in jobs.params.feature_of(feature).of:
            add(dataset, source)
        found[dataset, feature] = None

    for name in jobs.experiments():
        spec = jobs.params.experiments[name]
        for feature in spec.views.values():
            add(spec.dataset, feature)
    return list(found)


def _extract(params: Params, dataset: str, feature: str) -> Job:
    path = Path("features", dataset, f"{feature}.h5")
    return Job(params.needs("extract", dataset, dataset, feature), (path,))


def _fits(jobs: Jobs) -> Iterator[Job]:
    """Training and embedding of each experiment and seed."""
    params = jobs.params
    factors = _factors(params)
    usual = median(factors.values()) if factors else 1.0
    for name in jobs.experiments():
        dataset = params.experiments[name].dataset
        factor = factors.get(params.fit_job(name)["plugin"], usual)
        for seed in params.seeds_of(name):
            model = Path("models", name, f"seed{seed}", "model.safetensors")
            share = _share(params, name, seed)
            yield Job(params.needs("train", dataset, name), (model,), factor * share)
            embedded = Path("embeddings", name, f"seed{seed}.h5")
            yield Job(params.needs("embed", dataset, name), (embedded,), factor)


def _share(params: Params, experiment: str, seed: int) -> float:
    """Share of the searched combinations that a seed fits."""
    job = params.fit_job(experiment)
    return 1 / len(combinations(job["search"])) if seed and "searched_by" in job else 1


def _factors(params: Params) -> dict[str, float]:
    """Measured by estimated seconds of each plug-in's fits that this machine has logged."""
    ratios: dict[str, list[float]] = {}
    for path in Path("models").glob("*/seed*/model.json"):
        experiment, seed = path.parts[1:3]
        logged = Path("logs/train", experiment, f"{seed}.train.log").exists()
        if experiment in params.experiments and logged:
            spec, fit = params.experiments[experiment], read_json(path)["fit"]
            fits = max(1, len(fit.get("search", [])))
            share = _share(params, experiment, int(seed.removeprefix("seed")))
            estimated = share * params.needs("train", spec.dataset, experiment).time(gpu=False)
            ratios.setdefault(fit["plugin"], []).append(fits * fit["fit_seconds"] / estimated)
    return {plugin: median(found) for plugin, found in ratios.items()}


def _shown(phase: Phase) -> tuple[str, ...]:
    numbers = asdict(phase).items()
    return tuple(f"{v:,.1f}" if isinstance(v, float) else str(v) for _, v in numbers)
