"""State of a running fit, from which a killed one resumes: snapshots and large arrays."""

import json
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from crossmodal.io.files import JsonObject
from crossmodal.io.seals import is_whole, sealing

SHARE = 0.05  # of the time may pass with saving: a large state is saved less often

State = tuple[dict[str, np.ndarray], JsonObject]


class Snapshot:
    """State of a running fit in one file, which each save replaces atomically.

    A file that is damaged is set aside with a message, and the fit begins anew.

    A state is a pair of named arrays and of facts, such as the learning curve, that JSON can hold;
    both come back exactly::

        snapshot = Snapshot(run.checkpoints)
        if saved := snapshot.load():
            self._restore(*saved)  # arrays, facts
        for step in ...:
            ...
            snapshot.save_if_due(self._state)  # returns arrays, facts

    Args:
        folder: Where the file is kept; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self.path = folder / "snapshot.safetensors" if folder else None
        self.due = -math.inf

    def load(self) -> State | None:
        """Return the state that an earlier process saved; None if it is missing or damaged."""
        if not self.path or not is_whole(self.path):
            return None
        with safe_open(self.path, "np") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return arrays, json.loads(file.metadata()["facts"])

    def save_if_due(self, state: Callable[[], State]) -> None:
        """Save what `state` returns if `SHARE` allows for it; the first time it always does."""
        start = time.monotonic()
        if not self.path or start < self.due:
            return
        arrays, facts = state()
        with sealing(self.path) as temporary:
            save_file(arrays, temporary, {"facts": json.dumps(facts)})
        end = time.monotonic()
        self.due = end + (end - start) / SHARE


def computed_once(
    folder: Path | None,
    name: str,
    shape: tuple[int, ...],
    dtype: type,
    fill: Callable[[np.ndarray], None],
) -> np.ndarray:
    """Return an array that `fill` computes, as a memory map that a resumed process opens again.

    Args:
        folder: Where the file is kept; None keeps the array in memory.
        name: Of the file, without its ending.
        shape: Of the array.
        dtype: Of the array.
        fill: Writes all of it.
    """
    array: np.ndarray
    if not folder:
        array = np.empty(shape, dtype)
        fill(array)
        return array
    path = folder / f"{name}.npy"
    if not is_whole(path):
        with sealing(path) as temporary:
            array = np.lib.format.open_memmap(temporary, "w+", dtype, shape)
            fill(array)
            array.flush()
    return np.load(path, mmap_mode="r")
