"""Staged methods that train for numbers of steps; their codes may be z-scored."""

import math
from abc import abstractmethod
from collections.abc import Iterable
from typing import Literal

from pydantic import Field
from torch import Tensor

from crossmodal.learning.scaling_layer import ScalingLayer
from crossmodal.methods._staged.stages import Readout, StagedMethod, TrainingOptions, Vectors
from crossmodal.nn.typed import ModulesByName
from crossmodal.plugin import Count


class StandardisedOptions(TrainingOptions):
    """Options of the training and of the codes."""

    steps: Count = Field(
        description="Steps of the last stage; each stage ends with a whole pass over the training "
        "split."
    )
    score_norm: Literal["none", "train_z"] = Field(
        description="Z-scores of the codes: 'none', or 'train_z' by training statistics."
    )


class StandardisedMethod(StagedMethod):
    """A staged method with the options `steps` and `score_norm`."""

    Options = StandardisedOptions
    options: StandardisedOptions

    @property
    @abstractmethod
    def code_width(self) -> int:
        """Return the size k of the codes of the last stage."""

    @property
    @abstractmethod
    def stage_steps(self) -> tuple[int, ...]:
        """Return the steps of each stage."""

    @property
    def stage_epochs(self) -> tuple[int, ...]:
        """Return passes over the training pairs that have these steps."""
        steps_of_a_pass = max(1, len(self.labels) // self.options.batch)
        return tuple(math.ceil(steps / steps_of_a_pass) for steps in self.stage_steps)

    def readout(self, modalities: Iterable[str]) -> Readout | None:
        """Return z-scores by training statistics, if `score_norm` asks for them."""
        wanted = self.options.score_norm == "train_z"
        return Standardised(modalities, self.code_width) if wanted else None


class Standardised(Readout):
    """Z-scores of the codes by training statistics.

    Args:
        modalities: Names of the modalities.
        width: Size of their codes.
    """

    def __init__(self, modalities: Iterable[str], width: int) -> None:
        super().__init__()
        self.scalers = ModulesByName[ScalingLayer](
            {m: ScalingLayer(width, "zscore") for m in modalities}
        )

    def fit(self, codes: Vectors) -> None:
        """Take the statistics of training codes (n, width)."""
        for modality, rows in codes.items():
            self.scalers[modality].fit(rows)

    def forward(self, modality: str, codes: Tensor) -> Tensor:
        """Return z-scores (n, width)."""
        return self.scalers[modality](codes)
