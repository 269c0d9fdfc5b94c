"""Costs of jobs: what earlier runs took, of this folder first, then of this project.

`job_costs.csv` has a row for each job that this project has run, `measured`, and one for each job
that it can run, `estimated`: the only basis for sizes that were never run. Snakemake's benchmarks
beside the outputs have what the runs of this folder took; DVC shares them with the outputs.
"""

import csv
from collections.abc import Iterable
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

from pydantic import AliasPath, BaseModel, Field, NonNegativeFloat, TypeAdapter

from crossmodal.io.shaped_json import recall

TABLE = Path(__file__).with_suffix(".csv")
# where the rules keep the benchmarks of a job; of an experiment's seeds all that there are
BENCHMARKS = {
    "prepare": "data/prepared/{}/benchmark.tsv",
    "extract": "features/{}.tsv",
    "train": "models/{}/seed*/benchmark.tsv",
    "embed": "embeddings/{}/seed*.tsv",
    "evaluate": "results/benchmarks/evaluate/{}/seed*.tsv",
    "evaluate_posteriors": "results/benchmarks/evaluate_posteriors/{}/seed*.tsv",
}
BASE_MB, COPIES = 1000, 4  # default memory: an interpreter with PyTorch, and its inputs so often
BASE_SECONDS, SECONDS_PER_MB = 120.0, 2.0
COPIED_MB = 50.0  # a second, of a disk
MOST = 1e9  # seconds or MB of a job: a forged benchmark could have more than a request may

Origin = Literal["run here", "measured", "estimated", "default"]


class Cost(BaseModel, frozen=True, extra="forbid"):
    """Cost of one job.

    Attributes:
        seconds: From its start to its end, on a processor; where it was measured, on the device
            that it had.
        gpu_seconds: The same on a GPU, where the job uses one and that is known.
        memory_mb: Peak of main memory.
        gpu_memory_mb: Peak of a GPU's memory.
        disk_mb: Size of its outputs.
        origin: Where the numbers come from.
    """

    seconds: NonNegativeFloat
    gpu_seconds: NonNegativeFloat | None = None
    memory_mb: NonNegativeFloat
    gpu_memory_mb: NonNegativeFloat = 0
    disk_mb: NonNegativeFloat = 0
    origin: Origin

    @property
    def is_measured(self) -> bool:
        """True if the job was run at this size."""
        return self.origin in ("run here", "measured")


class _Fit(BaseModel):
    """Content of model.json, as far as it is read here."""

    gpu_memory_mb: float = Field(
        default=0, ge=0, lt=MOST, validation_alias=AliasPath("fit", "peak_gpu_memory_mb")
    )


FIT = TypeAdapter(_Fit)


class Costs:
    """Costs of jobs by rule and name: a dataset, `dataset/feature`, or an experiment.

    What the runs of this folder took is read once for each job.
    """

    def __init__(self) -> None:
        self._run_here = cache(run_here)  # a job has four requests

    def of(self, rule: str, job: str, inputs: Iterable[str | Path] = ()) -> Cost:
        """Return the cost of a job.

        Args:
            rule: Rule of the job.
            job: Name of the job among those of the rule.
            inputs: Files that it reads, whose size decides where nothing else is known.
        """
        cost = self._table.get((rule, job)) or default(inputs)
        return cost.model_copy(update=self._run_here(rule, job))

    def of_part(self, feature: str, jobs: int, inputs: Iterable[str | Path] = ()) -> Cost:
        """Return the cost of one of the jobs that extract a feature in parts.

        Args:
            feature: `dataset/feature`.
            jobs: Number of the parts.
            inputs: As for `of`.
        """
        whole = self.of("extract", feature, inputs)
        numbers = whole.model_dump(include={"seconds", "gpu_seconds", "disk_mb"}, exclude_none=True)
        share = {key: value / jobs for key, value in numbers.items()}
        measured = self._run_here("extract", f"{feature}.parts/*-of-{jobs}")
        return whole.model_copy(update=share | measured)

    def of_join(self, feature: str, inputs: Iterable[str | Path] = ()) -> Cost:
        """Return the cost of joining the parts of a feature, which copies them."""
        size = self.of("extract", feature, inputs).disk_mb
        seconds = BASE_SECONDS + size / COPIED_MB
        cost = Cost(seconds=seconds, memory_mb=BASE_MB, disk_mb=2 * size, origin="default")
        return cost.model_copy(update=self._run_here("extract", f"{feature}.parts/joined"))

    @cached_property
    def _table(self) -> dict[tuple[str, str], Cost]:
        estimated, measured = read_table("estimated"), read_table("measured")
        return estimated | measured


def run_here(rule: str, job: str) -> dict[str, float | Origin]:
    """Return what was measured of a `Cost`, the largest of a job's runs in this folder."""
    paths = [*Path().glob(BENCHMARKS[rule].format(job))] if rule in BENCHMARKS else []
    runs = [row for path in paths for row in _read_benchmark(path)]
    if not runs:
        return {}
    fits = [recall(path.with_name("model.json"), FIT, _Fit()) for path in paths]
    seconds = max(_number(run["s"]) for run in runs)
    memory = max(_number(run.get("max_rss")) for run in runs)
    on_gpu = max(fit.gpu_memory_mb for fit in fits)
    measured: dict[str, float | Origin] = {"seconds": seconds, "origin": "run here"}
    if memory:
        measured["memory_mb"] = memory
    if on_gpu:
        measured |= {"gpu_memory_mb": on_gpu, "gpu_seconds": seconds}
    return measured


def default(inputs: Iterable[str | Path]) -> Cost:
    """Return the cost of a job of which only the size of its inputs is known."""
    size = sum(path.stat().st_size for path in map(Path, inputs) if path.is_file()) / 1e6
    return Cost(
        seconds=BASE_SECONDS + SECONDS_PER_MB * size,
        memory_mb=BASE_MB + COPIES * size,
        disk_mb=size,
        origin="default",
    )


@cache
def read_table(origin: Origin) -> dict[tuple[str, str], Cost]:
    """Read the rows of `job_costs.csv` of one origin, by rule and job."""
    with TABLE.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["origin"] == origin]
    stated = [{column: cell for column, cell in row.items() if cell} for row in rows]
    return {(row.pop("rule"), row.pop("job")): Cost.model_validate(row) for row in stated}


def _read_benchmark(path: Path) -> list[dict[str, str]]:
    """Read Snakemake's benchmark of a job; a damaged one says nothing."""
    with path.open(encoding="utf-8", errors="replace", newline="") as stream:
        rows = [*csv.DictReader(stream, delimiter="\t")]
    return [row for row in rows if _number(row.get("s"))]


def _number(cell: str | None) -> float:
    """Return a number of a benchmark; 0 of `-` or `NA`, which stand where a job was too short."""
    try:
        number = float(cell or 0)
    except ValueError:
        return 0.0
    return number if 0 <= number < MOST else 0.0
