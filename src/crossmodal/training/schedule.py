"""Schedule of a fit: its phases, their learning rates, and the limit of the gradients."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class Phase:
    """A part of a fit with its own optimiser.

    Args:
        epochs: Passes over the training split.
        learning_rate: Rate of its first epoch.
    """

    epochs: int
    learning_rate: float


@dataclass(frozen=True)
class Schedule:
    """Phases of a fit, each but the first beginning with the best weights so far.

    Args:
        phases: In order.
        decay: Factor of the learning rate when it falls.
        decay_every: Epochs of a phase after which it falls, each time.
        clip: Largest L2 norm of all gradients together.
        continues: Whether a later phase counts its epochs from the best one, or from 0.
    """

    phases: tuple[Phase, ...]
    decay: float = 1.0
    decay_every: int = 1
    clip: float = math.inf
    continues: bool = False

    def learning_rate(self, phase: int, epoch: int) -> float:
        """Return the rate of an epoch of a phase, both from 0."""
        return self.phases[phase].learning_rate * self.decay ** (epoch // self.decay_every)

    def clip_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Scale all gradients together to the limit, if there is one."""
        if self.clip < math.inf:
            nn.utils.clip_grad_norm_(parameters, self.clip)
