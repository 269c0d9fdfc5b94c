"""Networks over two paired views that are trained stage by stage.

A stage is a part of the network with its own loss. Stages are trained one after the other, each on
the outputs of the previous one, which is frozen by then; the outputs are computed once, so memory
is that of the inputs plus one stage's outputs.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import torch
from pydantic import Field
from torch import nn

from crossmodal.data.learnable import require_labels
from crossmodal.data.split import Split, View
from crossmodal.device import device, to_device
from crossmodal.learning.method import VECTORS, Run
from crossmodal.learning.scaling import Kind, ScalingOptions
from crossmodal.learning.scaling_layer import ScalingLayer
from crossmodal.nn.typed import ModulesByName, ModulesInOrder
from crossmodal.plugin import Count, NotNegative, Positive
from crossmodal.training.gradient import ROWS, GradientMethod, shuffled_batches, vectors_in_parts
from crossmodal.training.schedule import Phase, Schedule

Vectors = dict[str, torch.Tensor]  # rows of each modality; equal rows are pairs


class TrainingOptions(ScalingOptions):
    """Options of the training but for its length."""

    learning_rate: Positive = Field(description="Learning rate of the optimiser.")
    weight_decay: NotNegative = Field(0.0001, description="L2 penalty of weights, not of biases.")
    batch: int = Field(
        gt=1, description="Pairs per step; the last, incomplete batch of an epoch is dropped."
    )


class StagedOptions(TrainingOptions):
    """Options of the training."""

    epochs: Count = Field(description="Passes over the training split in the last stage.")


class Stage(nn.Module, ABC):
    """A part of the network: encodes each modality separately, learns from pairs.

    Args:
        widths: Number of inputs of each modality.
        scaling: Scaling of the inputs by statistics of the training pairs; see `ScalingOptions`.

    Attributes:
        progress: Fraction of its epochs that have passed, [0, 1).
    """

    progress = 0.0

    def __init__(self, widths: dict[str, int], scaling: Kind) -> None:
        super().__init__()
        self.scalers = ModulesByName[ScalingLayer](
            {m: ScalingLayer(w, scaling) for m, w in widths.items()}
        )

    @abstractmethod
    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Return outputs (n, k) for scaled inputs (n, width)."""

    @abstractmethod
    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of a batch.

        Args:
            x: Scaled inputs (b, width) of each modality.
            labels: (b, C); each row sums to 1, or to 0 without labels.
        """

    def fit(self, x: Vectors) -> None:
        """Take the statistics of training inputs (n, width)."""
        for modality, rows in x.items():
            self.scalers[modality].fit(rows)

    def forward(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Return outputs (n, k) for inputs (n, width)."""
        return self.encode(modality, self.scalers[modality](x))


class Readout(nn.Module, ABC):
    """A last part of the network, which is fitted to the codes of the last stage."""

    @abstractmethod
    def fit(self, codes: Vectors) -> None:
        """Fit it to training codes (n, width); equal rows are pairs."""

    @abstractmethod
    def forward(self, modality: str, codes: torch.Tensor) -> torch.Tensor:
        """Return embeddings (n, k) for codes (n, width)."""


class StagedNetwork(nn.Module):
    """All stages, and the readout if there is one."""

    def __init__(self, stages: list[Stage], readout: Readout | None) -> None:
        super().__init__()
        self.stages = ModulesInOrder[Stage](stages)
        self.readout = readout

    def forward(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Return embeddings (n, k) for inputs (n, width)."""
        for stage in self.stages:
            x = stage(modality, x)
        return x if self.readout is None else self.readout(modality, x)


class StagedMethod(GradientMethod[torch.Tensor]):
    """A method that defines its stages.

    Attributes:
        supervised: Whether it learns from labels; unlabelled items are then left out.
        classes: Number C of classes, set by `fit` and `restore`.
    """

    task = "category"
    network: StagedNetwork
    supervised: ClassVar[bool]
    classes: int
    options: TrainingOptions

    @abstractmethod
    def stages(self, widths: dict[str, int]) -> list[Stage]:
        """Return the stages, freshly initialised, for views of these widths."""

    def readout(self, modalities: Iterable[str]) -> Readout | None:
        """Return a module that is fitted to the codes after each epoch of the last stage."""
        return None

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        # the modalities whose layers are given, where layers are options
        layers = [value for _, value in self.options if isinstance(value, dict) and value]
        self.takes = {m: s for m, s in VECTORS.items() if all(m in given for given in layers)}

    @property
    @abstractmethod
    def stage_epochs(self) -> tuple[int, ...]:
        """Return the epochs of each stage."""

    @property
    def epochs(self) -> int:
        """Return passes over the training split, in all stages together."""
        return sum(self.stage_epochs)

    @property
    def schedule(self) -> Schedule:
        """Return one phase of all stages."""
        return Schedule((Phase(self.epochs, self.options.learning_rate),))

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Train stage by stage, and keep the epoch with the best validation score.

        Raises:
            CrossmodalError: If the views or labels do not suit the method, or training diverges.
        """
        self.classes = train.labels.shape[1]
        super().fit(train, validation, run)

    def build(self, views: dict[str, View]) -> nn.Module:
        """Build all stages, and the readout."""
        widths = {m: view.vectors().shape[1] for m, view in views.items()}
        return StagedNetwork(self.stages(widths), self.readout(widths))

    def optimizer(self) -> torch.optim.Optimizer:
        """Return Adam."""
        return torch.optim.Adam(self.parameter_groups(), self.options.learning_rate, fused=True)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return weights, with weight decay, and biases, without."""
        parameters = list(self.network.parameters())
        weights = [p for p in parameters if p.ndim > 1]
        biases = [p for p in parameters if p.ndim == 1]
        return [{"params": weights, "weight_decay": self.options.weight_decay}, {"params": biases}]

    def place(self, train: Split) -> None:
        """Place pairs and labels on the device."""
        views = train.two_views()
        items, rows = train.pairs()
        labels = train.labels[items].astype(np.float32)  # (m, C)
        chosen = np.arange(len(items))
        if self.supervised:
            require_labels(train)
            chosen = np.flatnonzero(labels.any(axis=1))
        counts = labels[chosen].sum(axis=1, keepdims=True)
        self.labels = torch.from_numpy(labels[chosen] / counts.clip(min=1)).to(device())
        self.inputs = {
            m: torch.from_numpy(v.taken(rows[m][chosen])).to(device()) for m, v in views.items()
        }
        self.stage = 0
        self.network.stages[0].fit(self.inputs)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[torch.Tensor]:
        """Return shuffled pairs (b,); fit the readout after each epoch of the last stage."""
        ends = np.cumsum(self.stage_epochs)
        self._enter(int(np.searchsorted(ends, epoch, side="right")))
        left = (ends[self.stage] - epoch) / self.stage_epochs[self.stage]
        self.network.stages[self.stage].progress = 1 - float(left)
        count = len(self.labels)
        batch = min(self.options.batch, count)
        for rows in shuffled_batches(count, batch, rng, drop_last=True):
            yield to_device(rows)
        if self.network.readout is not None and self.stage == len(ends) - 1:
            self.network.readout.fit(self._outputs())

    def loss(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the loss of the current stage on a batch of pairs (b,)."""
        stage = self.network.stages[self.stage]
        x = {m: stage.scalers[m](rows[batch]) for m, rows in self.inputs.items()}
        return stage.loss(x, self.labels[batch])

    def may_keep(self, epoch: int) -> bool:
        """Return whether the last stage learns: before it the codes come from untrained layers.

        Args:
            epoch: Index of the epoch.
        """
        return epoch >= self.epochs - self.stage_epochs[-1]

    def log(self) -> dict[str, float]:
        """Return the index of the stage, from 0."""
        return {"stage": self.stage}

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Return codes (rows, k) of the last stage."""
        return (self.network(modality, rows) for rows in vectors_in_parts(view))

    def state(self) -> dict[str, np.ndarray]:
        """Return the weights of the network and the number of classes."""
        return super().state() | {"classes": np.array(self.classes)}

    def restore(self, state: dict[str, np.ndarray], views: dict[str, View]) -> None:
        """Rebuild the network for the given views and load its weights."""
        self.classes = int(state["classes"])
        super().restore({name: v for name, v in state.items() if name != "classes"}, views)

    def _enter(self, stage: int) -> None:
        """Go to a stage: its inputs are the outputs of those before it."""
        while self.stage < stage:
            self.inputs = self._outputs()
            self.stage += 1
            self.network.stages[self.stage].fit(self.inputs)

    def _outputs(self) -> Vectors:
        """Return outputs (n, k) of the current stage for all training pairs."""
        self.network.eval()
        stage = self.network.stages[self.stage]
        with torch.no_grad():
            return {
                m: torch.cat([stage(m, part) for part in rows.split(ROWS)])
                for m, rows in self.inputs.items()
            }


class SingleStageMethod(StagedMethod):
    """A staged method with one stage, whose length is the option `epochs`."""

    options: StagedOptions

    @property
    def stage_epochs(self) -> tuple[int, ...]:
        """Return the epochs of the stage."""
        return (self.options.epochs,)
