"""What every feature extractor does."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from crossmodal.prepared import Caption, Item, Prepared
from crossmodal.store import FeatureFile


class Feature(ABC):
    """Rows of numbers for the items, or for the captions, of a dataset.

    A subclass is the extractor; its `__init__` takes the options of `features.<name>` in
    params.yaml. Rows are extracted in chunks, and a run that is stopped goes on after the last
    finished chunk, so `extract` must depend on its rows and on what `fit` learnt alone.

    Attributes:
        modality: What it describes.
        unit: Whether a row is an item or a caption.
        reads: Files of the prepared dataset that it needs.
        of: Names of the features it is computed from.
        weights: Name of a file in `data/raw/weights/`, or empty.
        chunk: Rows extracted at a time.
        threads: Processor threads that it makes use of.
        gpu: Whether it makes use of a GPU.
        media: Whether its rows are the dataset's media, to be shared only where these are.
    """

    modality: ClassVar[Literal["image", "text", "speech"]]
    unit: Literal["item", "caption"] = "item"
    reads: ClassVar[tuple[str, ...]] = ("items.csv", "captions.csv", "splits.csv", "media.zip")
    of: tuple[str, ...] = ()
    weights: str = ""
    chunk: int = 256
    threads: ClassVar[int] = 1
    gpu: ClassVar[bool] = False
    media: ClassVar[bool] = False

    def rows(self, dataset: Prepared) -> Sequence[Item] | Sequence[Caption]:
        """What the rows of the feature file are, in order."""
        return dataset.items if self.unit == "item" else dataset.captions

    def fit(  # noqa: B027 - most features learn nothing
        self, dataset: Prepared, sources: dict[str, FeatureFile], weights: str
    ) -> None:
        """Learn statistics from the training split, or load a network. By default nothing.

        Args:
            dataset: The prepared dataset.
            sources: The features named in `of`.
            weights: Path of the file named in `weights`.
        """

    @abstractmethod
    def extract(
        self, dataset: Prepared, rows: Sequence[Any], sources: dict[str, FeatureFile]
    ) -> np.ndarray | list[np.ndarray]:
        """Features of some rows.

        Args:
            dataset: The prepared dataset, opened for reading.
            rows: Some of `self.rows(dataset)`.
            sources: The same rows of the features named in `of`.

        Returns:
            Array (rows, d), or one array (length, ...) per row for sequences.

        Raises:
            CrossmodalError: If an input is damaged; the message names it.
        """

    def learnt(self) -> dict[str, Any]:
        """What `fit` learnt and methods need, as JSON: the size of a vocabulary, say."""
        return {}
