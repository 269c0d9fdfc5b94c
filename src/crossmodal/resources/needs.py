"""What a job needs: bytes, floating-point operations, seconds.

Rates are those of one core of a server of 2020 and of a data-centre GPU, as such jobs reach them;
`crossmodal plan` corrects them by finished runs.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

MB, GB = 10**6, 10**9
INTERPRETER = 690 * MB  # Python with NumPy, scikit-learn and PyTorch
PLAIN, NUMBA = 150 * MB, 70 * MB  # Python with NumPy alone; what Numba adds
START = 10.0  # seconds until a job begins to work
PROCESSOR, GPU = 2e10, 1e13  # operations per second
READING = 1e8  # bytes per second


@dataclass(frozen=True)
class Resources:
    """What a job needs.

    Args:
        memory: Bytes of main memory at the peak.
        operations: Floating-point operations.
        seconds: Further time, of which a GPU takes nothing.
        gpu: GPUs that it makes use of.
        gpu_memory: Bytes of a GPU's memory at the peak, if it has one.
        moved: Bytes of main memory that it does not need if it has a GPU.
        disk: Bytes of what it writes and keeps.
        threads: Threads that it computes with.
        workers: Processes beside it that prepare what it learns from.
    """

    memory: float = INTERPRETER
    operations: float = 0
    seconds: float = START
    gpu: int = 0
    gpu_memory: float = 0
    moved: float = 0
    disk: float = 0
    threads: int = 1
    workers: int = 0

    def but(self, **changes: float) -> "Resources":
        """The same with other values."""
        return replace(self, **changes)

    def together(self, count: int) -> "Resources":
        """What so many processes need that share its work, with a GPU each."""
        each = ("memory", "moved", "gpu", "threads", "workers")
        return replace(self, **{name: count * getattr(self, name) for name in each})

    def time(self, gpu: bool) -> float:
        """Seconds from start to end, with a GPU or without."""
        rate = GPU * self.gpu if gpu and self.gpu else PROCESSOR * self.threads
        return self.seconds + self.operations / rate


def in_turn(jobs: Iterable[Resources]) -> Resources:
    """What takes the time of all and the memory of the largest."""
    jobs = list(jobs)
    return Resources(
        max(job.memory for job in jobs),
        sum(job.operations for job in jobs),
        sum(job.seconds for job in jobs),
        max(job.gpu for job in jobs),
        max(job.gpu_memory for job in jobs),
        min(job.moved for job in jobs),
        max(job.disk for job in jobs),
        max(job.threads for job in jobs),
        max(job.workers for job in jobs),
    )
