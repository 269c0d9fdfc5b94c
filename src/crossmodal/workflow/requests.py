"""Resources that jobs request of Snakemake, and so of a cluster: memory, time, disk and GPUs."""

import math
from collections.abc import Callable, Sequence

from crossmodal.config.params import Params
from crossmodal.workflow.fit_jobs import Wildcards
from crossmodal.workflow.job_costs import Cost, Costs

SNAKEMAKE_MB = 500  # a cluster starts it twice for each job
MARGIN, PATIENCE = 1.3, 4  # of the expected memory and time
SHORTEST, DAY = 30, 1440  # minutes

Request = Callable[[Wildcards, Sequence[str], int], int]


class Requests:
    """The `resources` of rules, each a function of a job's wildcards, inputs and attempt.

    Args:
        params: The checked params.yaml.
    """

    def __init__(self, params: Params) -> None:
        self.params, self.costs = params, Costs()

    def of(self, rule: str, *names: str) -> dict[str, Request | Callable[[Wildcards], int]]:
        """Return the requests of the jobs of a rule; those that make use of GPUs get them.

        Memory and disk are 1.3 times what is expected, rounded up; time is four times: for a
        processor, but up to a day where a GPU is used, and for the GPU. Each further attempt
        requests twice as much.

        Args:
            rule: The rule.
            names: The wildcards that name a job of it.
        """

        def request(measure: Callable[[Cost, int], int]) -> Request:
            def value(wildcards: Wildcards, input: Sequence[str], attempt: int) -> int:
                job = [getattr(wildcards, name) for name in names]
                cost = self.cost(rule, "/".join(job), input)
                return measure(cost, self.gpus(rule, job[-1])) * 2 ** (attempt - 1)

            return value

        return {
            "mem_mb": request(_memory),
            "disk_mb": request(lambda cost, gpus: _rounded(2 * cost.disk_mb) + SNAKEMAKE_MB),
            "runtime": request(_minutes),
            "gpu_mem_mb": request(lambda cost, gpus: _rounded(cost.gpu_memory_mb) if gpus else 0),
            "gpu": lambda wildcards: self.gpus(rule, getattr(wildcards, names[-1])),
        }

    def cost(self, rule: str, job: str, inputs: Sequence[str] = ()) -> Cost:
        """Return the cost of a job; of parts of a feature by their number in params.yaml.

        Args:
            rule: Rule of the job.
            job: Its dataset, `dataset/feature` or experiment.
            inputs: Files that it reads.
        """
        if rule == "extract_part":
            jobs = self.params.jobs_of(job.rpartition("/")[2])
            return self.costs.of_part(job, jobs, inputs)
        if rule == "join_parts":
            return self.costs.of_join(job, inputs)
        return self.costs.of(rule, job, inputs)

    def gpus(self, rule: str, name: str) -> int:
        """Return the number of GPUs of a job.

        Args:
            rule: Rule of the job.
            name: Its dataset, feature or experiment.
        """
        if rule in ("extract", "extract_part"):
            return int(self.params.feature_of(name).gpu)
        if rule == "evaluate":
            return int(self.params.facts_of(name).scores_on_gpu)
        if rule not in ("train", "embed", "evaluate_posteriors"):
            return 0
        together = self.params.experiments[name].gpus if rule == "train" else 1
        return together * self.params.facts_of(name).gpu

    def threads(self, wildcards: Wildcards) -> int:
        """Return the threads of a fit: of each of its processes, and of what reads for them."""
        experiment = wildcards.experiment
        return self.params.experiments[experiment].gpus * self.params.facts_of(experiment).threads


def _memory(cost: Cost, gpus: int) -> int:
    """Return the memory in MB; each of several processes has its own."""
    return _rounded(cost.memory_mb * max(1, gpus)) + SNAKEMAKE_MB


def _rounded(size: float) -> int:
    """Return a size with a margin, in hundreds."""
    return math.ceil(MARGIN * size / 100) * 100


def _minutes(cost: Cost, gpus: int) -> int:
    """Return the time limit of a job."""
    on_processor = PATIENCE * cost.seconds / 60
    on_gpu = PATIENCE * (cost.gpu_seconds or 0) / 60
    limit = min(on_processor, DAY) if gpus else on_processor
    return math.ceil(max(SHORTEST, limit, on_gpu))
