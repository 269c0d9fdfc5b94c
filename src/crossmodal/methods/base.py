"""What every retrieval method does."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from crossmodal.data import Split, View
from crossmodal.evaluation.retrieval import inner_product

Direction = tuple[str, str]


@dataclass
class Run:
    """Circumstances of one fit.

    Args:
        seed: Seeds everything random.
        checkpoints: Folder for unfinished training, outside the outputs; None keeps nothing.
        curve: Rows of the learning curve, filled by `fit`; each has the same keys.
        label: Name of the run in messages.
        weights: The file that `Method.weights` names, if it names one.
    """

    seed: int
    checkpoints: Path | None = None
    curve: list[dict[str, float]] = field(default_factory=list)
    label: str = "fit"
    weights: Path | None = None


class Method(ABC):
    """Maps views of items into a shared space, or scores them.

    A subclass is the method; its `__init__` takes the options of `methods.<name>` in params.yaml.

    Attributes:
        task: 'category': labels make relevance, chosen by mAP; 'instance': pairs do, by rsum.
        gpu: Whether it makes use of a GPU.
        weights: Name of a file in `data/raw/weights/` that `fit` begins with, or empty.
        arrays: What `fit` learnt and `embed` needs; stored with the run.
    """

    task: ClassVar[Literal["category", "instance"]]
    gpu: ClassVar[bool] = False
    weights: str = ""
    arrays: dict[str, np.ndarray]

    @abstractmethod
    def fit(self, train: Split, validation: Split, run: Run) -> None:
        """Learn from `train`; `validation` may be used to choose, never to learn.

        Args:
            train: Views and labels of the training split.
            validation: The same of the validation split.
            run: Seed, checkpoints and the learning curve.

        Raises:
            CrossmodalError: If the views do not suit the method.
        """

    @abstractmethod
    def embed(self, modality: str, view: View) -> np.ndarray:
        """Embeddings (rows, ...) of one view, whether as query or as gallery."""

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Scores (q, g), higher is better; by default the cosine.

        Args:
            queries: Embeddings of modality `direction[0]`, (q, ...).
            gallery: Embeddings of modality `direction[1]`, (g, ...).
            direction: Modalities of query and gallery.
        """
        return inner_product(queries, gallery)

    def state(self) -> dict[str, np.ndarray]:
        """What must be stored to embed later."""
        return self.arrays

    def restore(self, state: dict[str, np.ndarray], views: dict[str, View]) -> None:
        """Take over a stored state.

        Args:
            state: What `state` returned.
            views: Views as they will be embedded, for their widths and `meta`.
        """
        self.arrays = state
