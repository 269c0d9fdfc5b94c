"""The one training loop of all methods that learn by gradient descent.

An epoch's randomness comes from (seed, epoch) alone, so a run that was killed goes on from its last
checkpoint, which is written between epochs, and ends with the numbers of an undisturbed run.
"""

import copy
import json
import math
import time
from abc import abstractmethod
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from crossmodal.data import Split, View
from crossmodal.devices import device
from crossmodal.errors import CrossmodalError
from crossmodal.evaluation.selection import selection_score
from crossmodal.files import replacing
from crossmodal.methods.base import Method, Run
from crossmodal.progress import track

# Writing checkpoints may take this share of the time; large networks are saved less often.
CHECKPOINT_SHARE = 0.05
# what a checkpoint knows besides weights, optimiser and learning curve
COUNTS = ("epoch", "step", "best", "after_best")


class GradientMethod(Method):
    """A method that says what its network, batches and loss are; the loop is here.

    Attributes:
        epochs: Number of passes over the training split.
        phases: How often training begins: each time but the first at the best epoch so far, with a
            new optimiser.
        continues: Whether the epochs of a later phase go on counting at that epoch, or begin at 0.
        phase: The present one, from 0.
        accumulate: Batches whose mean gradient makes one step; each keeps its own negatives.
        initial_weights: File of weights to begin with, set by `fit`; see `Method.weights`.
        network: Set by `fit` and `restore`.
    """

    gpu = True
    epochs: int
    phases: int = 1
    continues: bool = True
    phase: int = 0
    accumulate: int = 1
    initial_weights: Path | None = None
    network: nn.Module

    @abstractmethod
    def build(self, views: dict[str, View]) -> nn.Module:
        """The network, freshly initialised, for views of these widths."""

    @abstractmethod
    def optimizer(self) -> torch.optim.Optimizer:
        """The optimiser of `self.network`; a parameter group's `factor` is of the learning rate."""

    @abstractmethod
    def learning_rate(self, epoch: int, step: int) -> float:
        """Learning rate of a step; `step` counts those of this optimiser from 0."""

    @abstractmethod
    def place(self, train: Split) -> None:
        """Keep what the loss needs of the training split, on the device."""

    @abstractmethod
    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[Any]:
        """The batches of one epoch, in order; called once at the start of each epoch."""

    @abstractmethod
    def loss(self, batch: Any) -> torch.Tensor:
        """The loss of a batch, a scalar."""

    @abstractmethod
    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Embeddings of a view's rows, in order, in pieces that fit the device."""

    def log(self) -> dict[str, float]:
        """What the learning curve tells of the last epoch besides loss and score; the same keys
        each time, by default none.
        """
        return {}

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
            CrossmodalError: If the loss becomes NaN or infinite.
        """
        torch.manual_seed(run.seed)
        self.phase, self.initial_weights = 0, run.weights
        self.network = self.build(train.views).to(device())
        self.place(train)
        state = _Progress(self, run)
        for phase in range(self.phase, self.phases):
            if phase > self.phase:
                state.restart()
            self._train_phase(state, validation, run)
        self.network.load_state_dict(state.best_weights)

    def _train_phase(self, state: "_Progress", validation: Split, run: Run) -> None:
        """The remaining epochs of the present phase."""
        todo = range(state.epoch, self.epochs)
        for epoch in track(todo, self.epochs, run.label, done=state.epoch):
            loss = self._train_epoch(epoch, state, run)
            score = selection_score(self, validation)
            row = {"epoch": len(run.curve), "loss": loss, "validation": score}
            run.curve.append(row | self.log())
            state.keep(score)
            state.save_if_due()

    def _train_epoch(self, epoch: int, state: "_Progress", run: Run) -> float:
        """One pass over the training split; the mean loss of its batches."""
        torch.manual_seed(int(np.random.SeedSequence([run.seed, epoch]).generate_state(1)[0]))
        rng = np.random.default_rng([run.seed, epoch])
        losses: list[torch.Tensor] = []
        batches = iter(self.batches(epoch, rng))
        while step := list(islice(batches, self.accumulate)):
            self.network.train()
            for group in state.optimizer.param_groups:
                group["lr"] = group.get("factor", 1) * self.learning_rate(epoch, state.step)
            state.optimizer.zero_grad(set_to_none=True)
            for batch in step:
                loss = self.loss(batch)
                (loss / len(step)).backward()
                losses.append(loss.detach())
            self.clip()
            state.optimizer.step()
            state.step += 1
        mean = float(torch.stack(losses).mean()) if losses else math.nan
        if not math.isfinite(mean):
            raise CrossmodalError(
                f"{run.label}: epoch {epoch} ends with loss {mean} after {len(losses)} batches; "
                "lower learning_rate, or check that the training split fills a batch"
            )
        return mean


class _Progress:
    """Where a training stands, in memory and in its checkpoint."""

    def __init__(self, method: GradientMethod, run: Run) -> None:
        self.method, self.network, self.run = method, method.network, run
        self.optimizer = method.optimizer()
        self.epoch, self.step = 0, 0  # the next ones
        self.best, self.after_best = -math.inf, 0
        self.best_weights: dict[str, torch.Tensor] = {}
        self.path = run.checkpoints / "training.safetensors" if run.checkpoints else None
        self.saved, self.cost = time.monotonic(), 0.0
        if self.path and self.path.exists():
            self._load(self.path)

    def keep(self, score: float) -> None:
        """Count an epoch; remember it if it is better than all before, ties go to the earlier."""
        self.epoch += 1
        if score > self.best:
            self.best, self.after_best = score, self.epoch
            self.best_weights = copy.deepcopy(self.network.state_dict())

    def restart(self) -> None:
        """Begin the next phase with the weights of the best epoch."""
        self.network.load_state_dict(self.best_weights)
        self.method.phase += 1
        self.optimizer, self.step = self.method.optimizer(), 0
        self.epoch = self.after_best if self.method.continues else 0

    def save_if_due(self) -> None:
        start = time.monotonic()
        if self.path and self.cost <= CHECKPOINT_SHARE * (start - self.saved):
            self._save(self.path)
            self.saved = time.monotonic()
            self.cost = self.saved - start

    def _save(self, path: Path) -> None:
        optimizer = self.optimizer.state_dict()
        slots = {
            f"optimizer.{index}.{name}": value
            for index, values in optimizer["state"].items()
            for name, value in values.items()
        }
        # the learning rate follows from the step, the rest of a group from the options
        tensors = {
            **{f"network.{name}": value for name, value in self.network.state_dict().items()},
            **{f"best.{name}": value for name, value in self.best_weights.items()},
            **{name: torch.as_tensor(value) for name, value in slots.items() if value is not None},
        }
        facts = {name: getattr(self, name) for name in COUNTS}
        facts |= {"phase": self.method.phase, "curve": self.run.curve}
        with replacing(path) as temporary:
            tensors = {name: value.contiguous() for name, value in tensors.items()}
            save_file(tensors, temporary, {"facts": json.dumps(facts)})

    def _load(self, path: Path) -> None:
        with safe_open(path, "pt") as file:
            facts = json.loads(file.metadata()["facts"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        self.method.phase = facts["phase"]
        self.optimizer = self.method.optimizer()
        self.network.load_state_dict(_part(tensors, "network"))
        self.best_weights = _part(tensors, "best")
        slots: dict[int, dict[str, torch.Tensor]] = {}
        for name, value in _part(tensors, "optimizer").items():
            index, slot = name.split(".")
            slots.setdefault(int(index), {})[slot] = value
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": slots, "param_groups": groups})
        for name in COUNTS:
            setattr(self, name, facts[name])
        self.run.curve[:] = facts["curve"]


def _part(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    """The tensors named `prefix`.*, without the prefix."""
    return {
        name.removeprefix(f"{prefix}."): value
        for name, value in tensors.items()
        if name.startswith(f"{prefix}.")
    }


def shuffled_batches(
    count: int, size: int, rng: np.random.Generator, drop_last: bool
) -> Iterable[np.ndarray]:
    """A random permutation of 0 .. count - 1 in batches; the last may be smaller or dropped."""
    order = rng.permutation(count)
    stop = count - count % size if drop_last else count
    return (order[start : start + size] for start in range(0, stop, size))
