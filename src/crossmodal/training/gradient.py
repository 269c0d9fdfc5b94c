"""The one training loop of all methods that learn by gradient descent.

An epoch's randomness comes from (seed, epoch) alone. A killed run resumes from its last snapshot,
which is saved between epochs, and ends with the numbers of an uninterrupted run.
"""

import copy
import math
from abc import abstractmethod
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from crossmodal.data.split import Split, View
from crossmodal.device import device
from crossmodal.errors import DivergenceError
from crossmodal.io.progress import track
from crossmodal.io.snapshots import Snapshot, State
from crossmodal.learning.method import Method, Run
from crossmodal.learning.selection import selection_score
from crossmodal.training.distributed import add_gradients, share_layers
from crossmodal.training.processes import first_alone, is_first

# what a snapshot knows besides weights, optimiser, phase and learning curve
COUNTS = ("epoch", "step", "best", "after_best")


class GradientMethod(Method):
    """A method that defines its network, batches and loss; the training loop is here.

    Attributes:
        phases: How often training begins: each time but the first with the best weights so far and
            a new optimiser.
        continues: Whether a later phase counts its epochs from the best one, or from 0.
        phase: The present one, from 0; `fit` sets it.
        accumulate: Batches whose mean gradient makes one step; each keeps its own negatives.
        initial_weights: File of weights to begin with, set by `fit`; see `Method.weights`.
        available_threads: How many may work at the same time, set by `fit`; see `Run`.
        checkpoints: Folder for what a resumed fit need not compute again, set by `fit`; or None.
        network: Set by `fit` and `restore`.
    """

    gpu = True
    phases: int = 1
    continues: bool = True
    phase: int = 0
    accumulate: int = 1
    initial_weights: Path | None = None
    available_threads: int = 1
    checkpoints: Path | None = None
    network: nn.Module

    @property
    def epochs(self) -> int:
        """Passes over the training split in the present phase; by default the option `epochs`."""
        return self.options.epochs

    @abstractmethod
    def build(self, views: dict[str, View]) -> nn.Module:
        """The network, freshly initialised, for views of these widths."""

    @abstractmethod
    def optimizer(self) -> torch.optim.Optimizer:
        """A new optimiser of `self.network` for the present phase.

        The loop sets its learning rates: a parameter group's is `factor`, by default 1, times that
        of `learning_rate_at`.
        """

    def learning_rate_at(self, epoch: int, step: int) -> float:
        """Learning rate of a step, by default the option `learning_rate`.

        Args:
            epoch: The present one of this phase, from 0.
            step: Number of steps that this optimiser has taken.
        """
        return self.options.learning_rate

    @abstractmethod
    def place(self, train: Split) -> None:
        """Keep on the device what the loss needs of the training split."""

    @abstractmethod
    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[Any]:
        """The batches of one epoch, in order; called once at the start of each epoch."""

    @abstractmethod
    def loss(self, batch: Any) -> torch.Tensor:
        """The loss of a batch, a scalar; of a method that is `distributed`, a function of what
        `crossmodal.training.distributed.in_shares` returns.
        """

    @abstractmethod
    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Embeddings of a view's rows, in order, in pieces that fit the device."""

    def validate(self, validation: Split) -> dict[str, float]:
        """Columns of the learning curve on the validation split; `validation` chooses the epoch."""
        return {"validation": selection_score(self, validation)}

    def log(self) -> dict[str, float]:
        """Columns of the learning curve besides these and the loss, for the last epoch: the same
        keys each time, by default none.
        """
        return {}

    def may_keep(self, epoch: int) -> bool:
        """Whether an epoch may be the one that is kept; by default each may."""
        return True

    def clip(self) -> None:
        """Limit the gradients before a step; by default not at all."""

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Embeddings (rows, d) of one view."""
        self.network.eval()
        with torch.inference_mode():
            return torch.cat([piece.float().cpu() for piece in self.encode(modality, view)]).numpy()

    def state(self) -> dict[str, np.ndarray]:
        """Weights of the network."""
        return {name: value.cpu().numpy() for name, value in self.network.state_dict().items()}

    def restore(self, state: dict[str, np.ndarray], views: dict[str, View]) -> None:
        """Rebuild the network for the given views and load its weights."""
        self.network = self.build(views).to(device())
        self.network.load_state_dict({name: torch.from_numpy(v) for name, v in state.items()})

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Train, and keep the epoch that does best on the validation split.

        Raises:
            DivergenceError: If the loss or a weight becomes NaN or infinite.
        """
        torch.manual_seed(run.seed)
        self.initial_weights, self.available_threads = run.weights, run.threads
        self.checkpoints = run.checkpoints
        self.network = self.build(train.views).to(device())
        share_layers(self.network)
        self.place(train)
        _Training(self, validation, run).finish()


class _Training:
    """A running fit: all its state but the method's phase, which only it sets.

    Attributes:
        epoch: The next one of this phase.
        step: The next one of this optimiser.
        best: Best validation score so far.
        after_best: The epoch after the one that reached it.
    """

    def __init__(self, method: GradientMethod, validation: Split, run: Run) -> None:
        self.method, self.network = method, method.network
        self.validation, self.run = validation, run
        self.epoch, self.best, self.after_best = 0, -math.inf, 0
        self.best_weights: dict[str, torch.Tensor] = {}
        self.snapshot = Snapshot(run.checkpoints)
        if saved := self.snapshot.load():
            self._restore(*saved)
        else:
            self._enter(0)

    def finish(self) -> None:
        """Train the remaining epochs of all phases; leave the best weights in the network."""
        self._train_phase()
        while self.method.phase + 1 < self.method.phases:
            self.network.load_state_dict(self.best_weights)
            self.epoch = self.after_best if self.method.continues else 0
            self._enter(self.method.phase + 1)
            self._train_phase()
        self.network.load_state_dict(self.best_weights)

    def _enter(self, phase: int) -> None:
        """Begin a phase with a new optimiser."""
        self.method.phase, self.step = phase, 0
        self.optimizer = self.method.optimizer()

    def _train_phase(self) -> None:
        """The remaining epochs of the present phase."""
        epochs = self.method.epochs
        left = range(self.epoch, epochs)
        if is_first():
            left = track(left, epochs, self.run.label, done=self.epoch)
        for epoch in left:
            curve, before = self.run.curve, self.step
            loss = self._train_epoch(epoch)
            steps = (curve[-1]["step"] if curve else 0) + self.step - before  # of all phases
            validated = first_alone(lambda: self.method.validate(self.validation))
            row = {"epoch": len(curve), "step": steps, "loss": loss}
            curve.append(row | validated | self.method.log())
            score = validated["validation"]
            self.epoch += 1
            if score > self.best and self.method.may_keep(epoch):  # the earliest of equals is kept
                self.best, self.after_best = score, self.epoch
                self.best_weights = {}  # the last ones go before their successors come
                self.best_weights = copy.deepcopy(self.network.state_dict())
            if is_first():
                self.snapshot.save_if_due(self._state)

    def _train_epoch(self, epoch: int) -> float:
        """One pass over the training split; the mean loss of its batches."""
        seed = self.run.seed
        torch.manual_seed(int(np.random.SeedSequence([seed, epoch]).generate_state(1)[0]))
        batches = iter(self.method.batches(epoch, np.random.default_rng([seed, epoch])))
        losses: list[torch.Tensor] = []
        while accumulated := list(islice(batches, self.method.accumulate)):
            losses += self._train_step(epoch, accumulated)
        mean = float(torch.stack(losses).mean()) if losses else math.nan
        finite = all(weight.isfinite().all() for weight in self.network.parameters())
        if not (finite and math.isfinite(mean)):
            raise DivergenceError(
                f"{self.run.label}: epoch {epoch} ends with loss {mean} after {len(losses)} batches"
                + ", and with weights that are NaN or infinite" * (not finite)
                + "; lower learning_rate, or check that the training split fills a batch"
            )
        return mean

    def _train_step(self, epoch: int, batches: list[Any]) -> list[torch.Tensor]:
        """One step along the mean gradient of some batches; their losses."""
        losses = []
        self.network.train()
        for group in self.optimizer.param_groups:
            group["lr"] = group.get("factor", 1) * self.method.learning_rate_at(epoch, self.step)
        self.optimizer.zero_grad(set_to_none=True)
        for batch in batches:
            loss = self.method.loss(batch)
            (loss / len(batches)).backward()
            losses.append(loss.detach())
        add_gradients(self.network.parameters())
        self.method.clip()
        self.optimizer.step()
        self.step += 1
        return losses

    def _state(self) -> State:
        """What a snapshot needs; the optimiser's parameter groups follow from the options."""
        slots = {
            f"{index}.{name}": torch.as_tensor(value)
            for index, values in self.optimizer.state_dict()["state"].items()
            for name, value in values.items()
            if value is not None
        }
        network = self.network.state_dict()
        parts = {"network": network, "best": self.best_weights, "optimizer": slots}
        arrays = {
            f"{part}.{name}": tensor.numpy(force=True)
            for part, tensors in parts.items()
            for name, tensor in tensors.items()
        }
        facts = {name: getattr(self, name) for name in COUNTS}
        return arrays, facts | {"phase": self.method.phase, "curve": self.run.curve}

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Resume from a snapshot."""
        self._enter(facts["phase"])
        self.network.load_state_dict(_part(arrays, "network"))
        self.best_weights = _part(arrays, "best")
        slots: dict[int, dict[str, torch.Tensor]] = {}
        for key, value in _part(arrays, "optimizer").items():
            index, name = key.split(".")
            slots.setdefault(int(index), {})[name] = value
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": slots, "param_groups": groups})
        for name in COUNTS:
            setattr(self, name, facts[name])
        self.run.curve[:] = facts["curve"]


def _part(arrays: dict[str, np.ndarray], part: str) -> dict[str, torch.Tensor]:
    """The arrays named `part`.*, without the prefix."""
    return {
        name.removeprefix(f"{part}."): torch.from_numpy(array)  # no copy: they may be large
        for name, array in arrays.items()
        if name.startswith(f"{part}.")
    }


def shuffled_batches(
    count: int, size: int, rng: np.random.Generator, drop_last: bool
) -> Iterable[np.ndarray]:
    """A random permutation of 0 .. count - 1 in batches; the last may be smaller or dropped."""
    order = rng.permutation(count)
    stop = count - count % size if drop_last else count
    return (order[start : start + size] for start in range(0, stop, size))
