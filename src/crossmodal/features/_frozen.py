"""Base class of features computed by a frozen network, whose weights are checksummed."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

from crossmodal.data.feature import Feature
from crossmodal.device import device
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import JsonObject, sha256

Batch = TypeVar("Batch")
Output = TypeVar("Output")


class FrozenFeature(Feature):
    """Rows that a frozen network computes.

    Attributes:
        path: File of its weights; None if they are random.
        sha256: Of the file, or empty.
        device: Where the network runs.
    """

    path: Path | None
    sha256: str
    device: torch.device
    threads = 8
    gpu = True

    def setup(self, weights: Path | None) -> None:
        """Note which weights these are, and where to run; a subclass loads the network."""
        self.device = device()
        self.path, self.sha256 = weights, sha256(weights) if weights else ""

    def each(
        self, compute: Callable[[Batch], np.ndarray], batches: Iterable[Batch]
    ) -> list[np.ndarray]:
        """Return the network's outputs for batches; on a CPU, several run at once."""
        with self.pool() as pool:
            return [*self.mapped(pool, compute, batches)]

    def mapped(
        self, pool: Executor, compute: Callable[[Batch], Output], batches: Iterable[Batch]
    ) -> Iterator[Output]:
        """Return the network's outputs for batches, in a pool that may prepare them too."""
        return (pool.map if self.device.type == "cpu" else map)(compute, batches)

    def pool(self) -> Executor:
        """Return a pool of threads, in each of which a network computes with one thread."""
        # sums that are split among threads would be rounded by their number
        return ThreadPoolExecutor(self.threads, initializer=torch.set_num_threads, initargs=(1,))

    def learnt(self) -> JsonObject:
        """Return the weights file and its checksum."""
        return {"weights": self.weights, "sha256": self.sha256}

    def restore(self, learnt: JsonObject) -> None:
        """Check that the weights are those of the first extraction.

        Raises:
            CrossmodalError: If the weights file is another one.
        """
        if self.sha256 != learnt["sha256"]:
            raise CrossmodalError(
                f"{self.path or 'random weights'}: SHA-256 is {self.sha256 or 'none'}, but the "
                f"feature was extracted with {learnt['weights'] or 'random weights'}, SHA-256 "
                f"{learnt['sha256'] or 'none'}; put that file there"
            )
