"""The base class of all retrieval methods."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from crossmodal.data.feature import Shape
from crossmodal.data.split import Split, View
from crossmodal.plugin import Plugin
from crossmodal.vectors import inner_product

Direction = tuple[str, str]
Takes = dict[str, tuple[Shape, ...]]  # modality -> shapes of rows
VECTORS: Takes = dict.fromkeys(("image", "text", "speech"), ("vector",))
CAPTIONED: Takes = {"image": ("vector",), "text": ("sequence",)}


@dataclass
class Run:
    """Circumstances of one fit.

    Args:
        seed: Seeds everything random.
        checkpoints: Folder for snapshots of the unfinished fit; None keeps none.
        curve: Rows of the learning curve, filled by `fit`; each has the same keys.
        label: Name of the run in messages.
        weights: The file that `Method.weights` names, if it names one.
        threads: How many may work at the same time; what is learnt must not depend on it.
    """

    seed: int
    checkpoints: Path | None = None
    curve: list[dict[str, float]] = field(default_factory=list)
    label: str = "fit"
    weights: Path | None = None
    threads: int = 1


class Method(Plugin, ABC):
    """Maps views of items into a shared space, or scores them.

    A subclass is the method; its `Options` are the keys of `methods.<name>` in params.yaml.

    Attributes:
        task: 'category': labels make relevance, chosen by mAP; 'instance': pairs do, by rsum.
        takes: Modalities that it retrieves, and which shapes of rows it takes of each.
        further: The same of views that may follow these two, which only help training.
        random: Whether the seed may change what `fit` learns.
        gpu: Whether it uses a GPU; `deterministic` of params.yaml then holds for it.
        distributed: Whether several processes may train it, see `crossmodal.training.distributed`.
        threads: CPU threads that it makes use of, those that read for it among them; a job sets
            how many it has.
        weights: Name of a file in `data/raw/weights/` that `fit` begins with, or empty.
        arrays: What `fit` learnt and `embed` needs; stored with the run.
    """

    task: ClassVar[Literal["category", "instance"]]
    takes: Takes = VECTORS
    further: ClassVar[Takes] = {}
    random: bool = True
    gpu: ClassVar[bool] = False
    distributed: ClassVar[bool] = False
    threads: int = 1
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
        """Return embeddings (rows, ...) of one view, whether as query or as gallery."""

    def score(self, queries: np.ndarray, gallery: np.ndarray, direction: Direction) -> np.ndarray:
        """Return scores (q, g), higher is better; by default the cosine.

        Args:
            queries: Embeddings of modality `direction[0]`, (q, ...).
            gallery: Embeddings of modality `direction[1]`, (g, ...).
            direction: Modalities of query and gallery.
        """
        return inner_product(queries, gallery)

    @property
    def cosine(self) -> bool:
        """True if rows are compared by the cosine: their evaluation imports no method then."""
        return type(self).score is Method.score

    def map_part(self, embeddings: np.ndarray) -> np.ndarray:
        """Return the part of embeddings (n, d) that a map of the space shows; by default all."""
        return embeddings

    def state(self) -> dict[str, np.ndarray]:
        """Return the arrays that must be stored to embed later."""
        return self.arrays

    def restore(self, state: dict[str, np.ndarray], views: dict[str, View]) -> None:
        """Take over a stored state.

        Args:
            state: What `state` returned.
            views: Views like those that will be embedded, without rows: their widths, types and
                `meta`.
        """
        self.arrays = state
