"""Networks over two paired views that are trained part by part.

A stage is a part of the network with a loss of its own. Stages are trained one after the other,
each on the outputs of those before it, which no longer change and are computed once: memory is
that of the inputs plus one stage's outputs.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from sklearn.preprocessing import scale
from torch import nn

from crossmodal.data import Split, View
from crossmodal.devices import device
from crossmodal.encoders.scaler import Scaler
from crossmodal.linear.inputs import require_labels
from crossmodal.methods.base import Run
from crossmodal.training import GradientMethod, shuffled_batches

Vectors = dict[str, torch.Tensor]  # rows of each modality; equal rows are pairs
ScoreNorm = Literal["none", "train_z", "test_z"]
ROWS = 4096


class Stage(nn.Module, ABC):
    """A part of the network: encodes each modality by itself, learns from pairs.

    Args:
        widths: Number of inputs of each modality.
        input_norm: How they are scaled, by statistics of the training pairs; see `Scaler`.

    Attributes:
        progress: Share of its epochs that have passed, [0, 1).
    """

    progress = 0.0

    def __init__(self, widths: dict[str, int], input_norm: str) -> None:
        super().__init__()
        self.scalers = nn.ModuleDict({m: Scaler(w, input_norm) for m, w in widths.items()})

    @abstractmethod
    def encode(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Outputs (n, k) for scaled inputs (n, width)."""

    @abstractmethod
    def loss(self, x: Vectors, labels: torch.Tensor) -> torch.Tensor:
        """Loss of a batch.

        Args:
            x: Scaled inputs (b, width) of each modality.
            labels: (b, C); an item's labels share a weight of 1.
        """

    def fit(self, x: Vectors) -> None:
        """Take the statistics of training inputs (n, width)."""
        for modality, rows in x.items():
            self.scalers[modality].fit(rows)

    def forward(self, modality: str, x: torch.Tensor) -> torch.Tensor:
        """Outputs (n, k) for inputs (n, width)."""
        return self.encode(modality, self.scalers[modality](x))


class Standardised(nn.Module):
    """A readout: z-scores of the codes by training statistics.

    Args:
        modalities: Which there are.
        width: Size of their codes.
    """

    def __init__(self, modalities: Iterable[str], width: int) -> None:
        super().__init__()
        self.scalers = nn.ModuleDict({m: Scaler(width, "zscore") for m in modalities})

    def fit(self, codes: Vectors) -> None:
        """Take the statistics of training codes (n, width)."""
        for modality, rows in codes.items():
            self.scalers[modality].fit(rows)

    def forward(self, modality: str, codes: torch.Tensor) -> torch.Tensor:
        """Z-scores (n, width)."""
        return self.scalers[modality](codes)


class StagedMethod(GradientMethod):
    """A method that says what its stages are.

    Attributes:
        supervised: Whether it learns from labels; items without any are then left out.
        stage_epochs: Epochs of each stage.
        batch: Pairs per step; the last, incomplete batch of an epoch is dropped.
        rate: Learning rate.
        weight_decay: L2 penalty of weights, not of biases.
        score_norm: Whether codes are z-scored before they are compared: by training statistics,
            or, transductively, by those of the view that is embedded.
        dims: Size of the codes of a method that has a readout.
        classes: C, set by `fit` and `restore`.
    """

    task = "category"
    supervised: ClassVar[bool]
    stage_epochs: tuple[int, ...]
    batch: int
    rate: float
    weight_decay: float
    score_norm: ScoreNorm = "none"
    dims: int
    classes: int

    @abstractmethod
    def stages(self, widths: dict[str, int]) -> list[Stage]:
        """The stages, freshly initialised, for views of these widths."""

    def readout(self, modalities: Iterable[str]) -> nn.Module | None:
        """What is fitted to the training codes after each epoch of the last stage, if anything."""
        return Standardised(modalities, self.dims) if self.score_norm == "train_z" else None

    @property
    def epochs(self) -> int:
        """Passes over the training split, in all stages together."""
        return sum(self.stage_epochs)

    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Train stage by stage, and keep the epoch that does best on the validation split.

        Raises:
            CrossmodalError: If the views or labels do not suit the method, or training diverges.
        """
        self.classes = train.labels.shape[1]
        super().fit(train, validation, run)

    def build(self, views: dict[str, View]) -> nn.Module:
        """All stages, and the readout."""
        widths = {m: view.vectors().shape[1] for m, view in views.items()}
        network = nn.ModuleDict({"stages": nn.ModuleList(self.stages(widths))})
        if readout := self.readout(widths):
            network["readout"] = readout
        return network

    def optimizer(self) -> torch.optim.Optimizer:
        """Adam."""
        return torch.optim.Adam(self.parameter_groups(), self.rate, fused=True)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Weights, which decay, and biases, which do not."""
        parameters = list(self.network.parameters())
        weights = [p for p in parameters if p.ndim > 1]
        biases = [p for p in parameters if p.ndim == 1]
        return [{"params": weights, "weight_decay": self.weight_decay}, {"params": biases}]

    def learning_rate(self, epoch: int, step: int) -> float:
        """Constant."""
        return self.rate

    def place(self, train: Split) -> None:
        """Pairs and labels on the device."""
        views = train.two_views()
        items, rows = train.pairs()
        labels = train.labels[items].astype(np.float32)  # (m, C)
        kept = np.arange(len(items))
        if self.supervised:
            require_labels(train)
            kept = np.flatnonzero(labels.any(axis=1))
        counts = labels[kept].sum(axis=1, keepdims=True)
        self.labels = torch.from_numpy(labels[kept] / counts.clip(min=1)).to(device())
        self.inputs = {
            m: torch.from_numpy(v.vectors()[rows[m][kept]]).float().to(device())
            for m, v in views.items()
        }
        self.stage = 0
        self.network["stages"][0].fit(self.inputs)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterable[torch.Tensor]:
        """Shuffled pairs; after the last one the readout follows the network."""
        ends = np.cumsum(self.stage_epochs)
        self._enter(int(np.searchsorted(ends, epoch, side="right")))
        left = (ends[self.stage] - epoch) / self.stage_epochs[self.stage]
        self.network["stages"][self.stage].progress = 1 - float(left)
        count = len(self.labels)
        for rows in shuffled_batches(count, min(self.batch, count), rng, drop_last=True):
            yield torch.from_numpy(rows).to(device())
        if "readout" in self.network and self.stage == len(ends) - 1:
            self.network["readout"].fit(self._outputs())

    def loss(self, batch: torch.Tensor) -> torch.Tensor:
        """Loss of the present stage on a batch of pairs (b,)."""
        stage = self.network["stages"][self.stage]
        x = {m: stage.scalers[m](rows[batch]) for m, rows in self.inputs.items()}
        return stage.loss(x, self.labels[batch])

    def log(self) -> dict[str, float]:
        """Number of the stage, from 0."""
        return {"stage": self.stage}

    def encode(self, modality: str, view: View) -> Iterable[torch.Tensor]:
        """Codes (rows, k) of the last stage."""
        for start in range(0, len(view.items), ROWS):
            rows = view.vectors()[start : start + ROWS].astype(np.float32)
            x = torch.from_numpy(rows).to(device())
            for stage in self.network["stages"]:
                x = stage(modality, x)
            yield self.network["readout"](modality, x) if "readout" in self.network else x

    def embed(self, modality: str, view: View) -> np.ndarray:
        """Codes (rows, k) of one view, z-scored if `score_norm` says so."""
        codes = super().embed(modality, view)
        if self.score_norm == "test_z":
            return scale(codes.astype(np.float64)).astype(np.float32)
        return codes

    def state(self) -> dict[str, np.ndarray]:
        """Weights of the network and the number of classes."""
        return super().state() | {"classes": np.array(self.classes)}

    def restore(self, state: dict[str, np.ndarray], views: dict[str, View]) -> None:
        """Rebuild the network for the given views and load its weights."""
        self.classes = int(state["classes"])
        super().restore({name: v for name, v in state.items() if name != "classes"}, views)

    def _enter(self, stage: int) -> None:
        """Make a stage's inputs from those of the present one."""
        while self.stage < stage:
            self.inputs = self._outputs()
            self.stage += 1
            self.network["stages"][self.stage].fit(self.inputs)

    def _outputs(self) -> Vectors:
        """Outputs (n, k) of the present stage for all training pairs."""
        self.network.eval()
        stage = self.network["stages"][self.stage]
        with torch.no_grad():
            return {
                m: torch.cat([stage(m, part) for part in rows.split(ROWS)])
                for m, rows in self.inputs.items()
            }
