"""The state of a learning that goes on, saved now and then."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from crossmodal.files import replacing

SECONDS = 10.0  # between two states, which take milliseconds to save

State = tuple[dict[str, np.ndarray], dict[str, Any]]


class StateFile:
    """Arrays and facts of a learning that goes on, in one file.

    Args:
        folder: Where it is kept; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self.path = folder / "state.safetensors" if folder else None
        self.saved = time.monotonic()

    def load(self) -> State | None:
        """What an earlier process saved."""
        if not self.path or not self.path.exists():
            return None
        with safe_open(self.path, "np") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return arrays, json.loads(file.metadata()["facts"])

    def save_if_due(self, state: Callable[[], State]) -> None:
        """Save what `state` returns, unless that was done a short while ago."""
        if not self.path or time.monotonic() < self.saved + SECONDS:
            return
        arrays, facts = state()
        with replacing(self.path) as temporary:
            save_file(arrays, temporary, {"facts": json.dumps(facts)})
        self.saved = time.monotonic()
