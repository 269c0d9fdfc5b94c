"""What jobs ask of Snakemake, and so of a cluster: memory, time, disk and GPUs."""

import math
from collections.abc import Callable
from typing import Any

from crossmodal.config.params import Params
from crossmodal.resources.needs import MB, Resources

SNAKEMAKE = 500 * MB  # a cluster starts it twice for each job
MARGIN, PATIENCE = 1.3, 4  # of the estimated memory and time
EXPERIMENTS = (
    "train",
    "embed",
    "evaluate",
    "evaluate_posteriors",
)  # rules whose jobs are those of an experiment
SHORTEST, DAY = 30, 1440  # minutes

Measure = Callable[[Resources], int]


class Requests:
    """The `resources` of rules, each a function of a job's wildcards.

    Args:
        params: The checked params.yaml.
    """

    def __init__(self, params: Params) -> None:
        self.params = params

    def of(self, rule: str, *names: str) -> dict[str, Callable[[Any], int]]:
        """What the jobs of a rule ask for; those that make use of GPUs get them.

        Memory and disk are 1.3 times the estimate, rounded up; time is four times the estimate: for
        a processor, but up to a day where a GPU is used, and for the GPU.

        Args:
            rule: The rule.
            names: The wildcards that name a job of it.
        """

        measures: dict[str, Measure] = {
            "mem_mb": lambda needs: _megabytes(needs.memory - needs.moved) + SNAKEMAKE // MB,
            "disk_mb": lambda needs: _megabytes(2 * needs.disk) + SNAKEMAKE // MB,
            "runtime": _minutes,
            "gpu": lambda needs: needs.gpu,
            "gpu_mem_mb": lambda needs: _megabytes(needs.gpu_memory),
        }
        return {key: self._asked(measure, rule, names) for key, measure in measures.items()}

    def threads(self, rule: str, *names: str) -> Callable[[Any], int]:
        """Threads that the jobs of a rule ask for, those of their workers among them; see `of`."""
        return self._asked(lambda needs: needs.threads + needs.workers, rule, names)

    def _asked(self, measure: Measure, rule: str, names: tuple[str, ...]) -> Callable[[Any], int]:
        return lambda wildcards: measure(
            self._needs(rule, *(getattr(wildcards, name) for name in names))
        )

    def _needs(self, rule: str, first: str, *further: str) -> Resources:
        experiment = self.params.experiments.get(first) if rule in EXPERIMENTS else None
        return self.params.needs(rule, experiment.dataset if experiment else first, first, *further)


def _megabytes(size: float) -> int:
    """With a margin, to hundreds above."""
    return math.ceil(MARGIN * size / MB / 100) * 100


def _minutes(needs: Resources) -> int:
    """Time limit of a job."""
    on_processor, on_gpu = (PATIENCE * needs.time(gpu) / 60 for gpu in (False, True))
    limit = min(on_processor, DAY) if needs.gpu else on_processor
    return math.ceil(max(SHORTEST, limit, on_gpu))
