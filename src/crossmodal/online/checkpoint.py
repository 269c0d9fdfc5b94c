"""Checkpoints of online learning: the models, their random numbers and the learning curve."""

from crossmodal.methods.base import Direction, Run
from crossmodal.online.learner import Learner
from crossmodal.state import State, StateFile


class Checkpoint:
    """Where the learning of two directions stands; what an earlier process saved is taken over.

    Args:
        learners: The models; restoring changes them in place.
        run: Where the checkpoint is kept, and the learning curve.
    """

    def __init__(self, learners: dict[Direction, Learner], run: Run) -> None:
        self.learners = {"-to-".join(direction): m for direction, m in learners.items()}
        self.run, self.file = run, StateFile(run.checkpoints)
        if found := self.file.load():
            self._take_over(*found)

    def save_if_due(self) -> None:
        """Save unless that was done a short while ago."""
        self.file.save_if_due(self._state)

    def _state(self) -> State:
        arrays, facts = {}, {"curve": self.run.curve}
        for name, learner in self.learners.items():
            arrays |= {f"{name}.{key}": array for key, array in learner.arrays.items()}
            facts[name] = {"lists": learner.lists, "rng": learner.rng.bit_generator.state}
        return arrays, facts

    def _take_over(self, arrays: dict, facts: dict) -> None:
        for name, learner in self.learners.items():
            for key, array in learner.arrays.items():
                array[:] = arrays[f"{name}.{key}"]
            learner.lists = facts[name]["lists"]
            learner.rng.bit_generator.state = facts[name]["rng"]
        self.run.curve[:] = facts["curve"]
