"""Training loop of all methods that learn by gradient descent.

An epoch's randomness comes from (seed, epoch) alone. A killed run resumes from its last snapshot,
which is saved between epochs, and ends with the numbers of an uninterrupted run.
"""

import copy
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import nn

from crossmodal.data.split import Split, View
from crossmodal.device import device
from crossmodal.errors import DivergenceError
from crossmodal.io.files import JsonObject
from crossmodal.io.progress import track
from crossmodal.io.snapshots import Snapshot, State
from crossmodal.learning.method import Method, Run
from crossmodal.learning.selection import selection_score
from crossmodal.training.distributed import add_gradients, share_layers
from crossmodal.training.processes import broadcast_from_first, is_first
from crossmodal.training.schedule import Phase, Schedule

Batch = TypeVar("Batch")

ROWS = 4096  # encoded at a time
# attributes that a snapshot holds besides weights, optimiser, phase and learning curve
COUNTS = ("epoch", "step", "best", "after_best")


class GradientMethod(Method, Generic[Batch]):
    """A method that defines its network, batches and loss; the training loop is here.

    Attributes:
        phase: The present phase of the schedule, from 0; `fit` sets it.
        run: Circumstances of the fit, set by `fit`.
        network: Set by `fit` and `restore`.
    """

    gpu = True
    phase: int = 0
    run: Run = Run(seed=0)
    network: nn.Module

    @property
    def schedule(self) -> Schedule:
        """Phases and learning rates, by default the options `epochs` and `learning_rate`."""
        return Schedule((Phase(self.options.epochs, self.options.learning_rate),))

    @abstractmethod
    def build(self, views: dict[str, View]) -> nn.Module:
        """Make the network, freshly initialised, for views of these widths."""

    @abstractmethod
    def optimizer(self) -> torch.optim.Optimizer:
        """Make an optimiser of `self.network` for the present phase.

        The loop sets its learning rates: a parameter group's is `factor`, by default 1, times that
        of `learning_rate_at`.
        """

    def learning_rate_at(self, epoch: int, step: int) -> float:
        """Return the learning rate of a step, by default that of the schedule.

        Args:
            epoch: The present one of this phase, from 0.
            step: Number of steps that this optimiser has taken.
        """
        return self.schedule.learning_rate(self.phase, epoch)

    @abstractmethod
    def place(self, train: Split) -> None:
        """Keep on the device what the loss needs of the training split."""

    @abstractmethod
    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[Batch]:
        """Return the batches of one epoch, in order; called once at the start of each epoch."""

    @abstractmethod
    def loss(self, batch: Batch) -> torch.Tensor:
        """Return the loss of a batch, a scalar.

        Of a method that is `distributed`, it is a function of what `in_shares` of
        `crossmodal.training.distributed` returns.
        """

    @abstractmethod
    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Return embeddings of a view's rows, in order, in pieces that fit the device."""

    def validate(self, validation: Split) -> dict[str, float]:
        """Return columns of the learning curve; `validation` chooses the epoch."""
        return {"validation": selection_score(self, validation)}

    def log(self) -> dict[str, float]:
        """Return further columns of the learning curve, the same each epoch; by default none."""
        return {}

    def may_keep(self, epoch: int) -> bool:
        """Return whether an epoch may be the one that is kept; by default each may."""
        return True

    def clip(self) -> None:
        """Limit the gradients before a step; by default as the schedule does."""
        self.schedule.clip_gradients(self.network.parameters())

    def trainable(self) -> list[nn.Parameter]:
        """Return the parameters that learn in the present phase."""
        return [p for p in self.network.parameters() if p.requires_grad]

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Return the embeddings (rows, d) of one view."""
        self.network.eval()
        with torch.inference_mode():
            return torch.cat([piece.float().cpu() for piece in self.encode(modality, view)]).numpy()

    def state(self) -> dict[str, np.ndarray]:
        """Return the weights of the network."""
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
        self.run = run
        self.network = self.build(train.views).to(device())
        share_layers(self.network)
        self.place(train)
        _Training(self, validation, run).finish()


class _Training(Generic[Batch]):
    """State of a running fit, but for the method's phase, which only it sets.

    Attributes:
        epoch: The next one of this phase.
        step: The next one of this optimiser.
        best: Best validation score so far.
        after_best: The epoch after the one that reached it.
    """

    def __init__(self, method: GradientMethod[Batch], validation: Split, run: Run) -> None:
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
        schedule = self.method.schedule
        while self.method.phase + 1 < len(schedule.phases):
            self.network.load_state_dict(self.best_weights)
            self.epoch = self.after_best if schedule.continues else 0
            self._enter(self.method.phase + 1)
            self._train_phase()
        self.network.load_state_dict(self.best_weights)

    def _enter(self, phase: int) -> None:
        """Begin a phase with a new optimiser."""
        self.method.phase, self.step = phase, 0
        self.optimizer = self.method.optimizer()

    def _train_phase(self) -> None:
        """Train the remaining epochs of the present phase."""
        total = self.method.schedule.phases[self.method.phase].epochs
        epochs: Iterable[int] = range(self.epoch, total)
        if is_first():
            epochs = track(epochs, total, self.run.label, done=self.epoch)
        for epoch in epochs:
            curve, before = self.run.curve, self.step
            loss = self._train_epoch(epoch)
            steps = (curve[-1]["step"] if curve else 0) + self.step - before  # of all phases
            validated = broadcast_from_first(lambda: self.method.validate(self.validation))
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
        """Pass over the training split once; return the mean loss of its batches."""
        seed = self.run.seed
        torch.manual_seed(int(np.random.SeedSequence([seed, epoch]).generate_state(1)[0]))
        batches = self.method.batches(epoch, np.random.default_rng([seed, epoch]))
        losses = [self._train_step(epoch, batch) for batch in batches]
        mean = float(torch.stack(losses).mean()) if losses else math.nan
        finite = all(weight.isfinite().all() for weight in self.network.parameters())
        if not (finite and math.isfinite(mean)):
            raise DivergenceError(
                f"{self.run.label}: epoch {epoch} ends with loss {mean} after {len(losses)} batches"
                + ", and with weights that are NaN or infinite" * (not finite)
                + "; lower learning_rate, or check that the training split fills a batch"
            )
        return mean

    def _train_step(self, epoch: int, batch: Batch) -> torch.Tensor:
        """Take one step along the gradient of a batch; return its loss."""
        self.network.train()
        for group in self.optimizer.param_groups:
            group["lr"] = group.get("factor", 1) * self.method.learning_rate_at(epoch, self.step)
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.method.loss(batch)
        loss.backward()
        add_gradients(self.network.parameters())
        self.method.clip()
        self.optimizer.step()
        self.step += 1
        return loss.detach()

    def _state(self) -> State:
        """Return arrays and facts of a snapshot; parameter groups follow from the options."""
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

    def _restore(self, arrays: dict[str, np.ndarray], facts: JsonObject) -> None:
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
    """Return the arrays named `part`.*, without the prefix."""
    return {
        name.removeprefix(f"{part}."): torch.from_numpy(array)  # no copy: they may be large
        for name, array in arrays.items()
        if name.startswith(f"{part}.")
    }


def vectors_in_parts(view: View) -> Iterator[torch.Tensor]:
    """Yield the rows (b, d) of a view in order, float32, on the device."""
    for start in range(0, len(view.items), ROWS):
        yield torch.from_numpy(view.vectors()[start : start + ROWS]).to(device()).float()


def shuffled_batches(
    count: int, size: int, rng: np.random.Generator, drop_last: bool
) -> Iterable[np.ndarray]:
    """Draw a permutation of 0 .. count - 1 in batches; the last may be smaller or dropped."""
    order = rng.permutation(count)
    stop = count - count % size if drop_last else count
    return (order[start : start + size] for start in range(0, stop, size))
