"""Checkpoints of online learning: the models, their random numbers and the learning curve."""

import json
import time

from safetensors import safe_open
from safetensors.numpy import save_file

from crossmodal.files import replacing
from crossmodal.methods.base import Direction, Run
from crossmodal.online.learner import Learner

SECONDS = 10.0  # saving takes milliseconds


class Checkpoint:
    """Where the learning of two directions stands; what an earlier process saved is taken over.

    Args:
        learners: The models; restoring changes them in place.
        run: Where the checkpoint is kept, and the learning curve.
    """

    def __init__(self, learners: dict[Direction, Learner], run: Run) -> None:
        self.learners = {"-to-".join(direction): m for direction, m in learners.items()}
        self.run = run
        self.path = run.checkpoints / "stream.safetensors" if run.checkpoints else None
        self.saved = time.monotonic()
        if self.path and self.path.exists():
            self._load()

    def save_if_due(self) -> None:
        """Save unless that was done a short while ago."""
        if self.path and time.monotonic() >= self.saved + SECONDS:
            self.save()
            self.saved = time.monotonic()

    def save(self) -> None:
        """Save now."""
        tensors, facts = {}, {"curve": self.run.curve}
        for name, learner in self.learners.items():
            tensors |= {f"{name}.{key}": array for key, array in learner.arrays.items()}
            facts[name] = {"lists": learner.lists, "rng": learner.rng.bit_generator.state}
        with replacing(self.path) as temporary:
            save_file(tensors, temporary, {"facts": json.dumps(facts)})

    def _load(self) -> None:
        with safe_open(self.path, "np") as file:
            facts = json.loads(file.metadata()["facts"])
            for name, learner in self.learners.items():
                for key, array in learner.arrays.items():
                    array[:] = file.get_tensor(f"{name}.{key}")
                learner.lists = facts[name]["lists"]
                learner.rng.bit_generator.state = facts[name]["rng"]
        self.run.curve[:] = facts["curve"]
