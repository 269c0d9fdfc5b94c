"""Base class of features."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from crossmodal.data.feature_file import FeatureFile
from crossmodal.data.prepared import Caption, Item, Items, Prepared
from crossmodal.io.files import JsonObject
from crossmodal.plugin import Plugin

Shape = Literal["vector", "maps", "sequence", "files"]


class Feature(Plugin, ABC):
    """Arrays that describe the items, or the captions, of a dataset: one row each.

    A subclass is the extractor; its `Options` are the keys of `features.<name>` in params.yaml.
    An instance is used in one of two ways, always in this order:

    - `setup`, `fit`, `extract`, `learnt`: on a prepared dataset;
    - `setup`, `restore`, `extract`: on other items, with what was learnt there.

    Rows are extracted in chunks, and a run that is stopped resumes after the last finished chunk,
    so `extract` must depend only on its arguments and on what `learnt` returns.

    Attributes:
        modality: What its rows describe.
        unit: Whether a row is an item or a caption.
        shape: What a row is: a 'vector'; 'maps' of a network; a 'sequence' of steps, such as frames
            or word ids; or encoded 'files'. Methods state which ones they take.
        reads: Files of the prepared dataset that it needs.
        of: Names of the features it is computed from.
        weights: Name of a file in `data/raw/weights/`, or empty.
        files: Paths of the user's own files that it reads; a change of one extracts it again.
        chunk: Rows extracted at a time.
        threads: CPU threads that it makes use of; a job sets how many it has. Rows must not depend
            on it.
        gpu: Whether it uses a GPU; `deterministic` of params.yaml then holds for it.
        invertible: Whether text, image or sound of the dataset comes back from it; then it is
            shared only where these may be.
        language: Of the texts, by BCP 47; a job sets that of its dataset.
        packages: Packages that it needs beside those that come with the installation; the extra
            `encoders` has them.
        published: Whether its rows come with a dataset, whatever another one taught.
    """

    modality: Literal["image", "text", "speech"]
    unit: Literal["item", "caption"] = "item"
    shape: Shape = "vector"
    reads: ClassVar[tuple[str, ...]] = ("items.csv", "captions.csv", "splits.csv", "media.zip")
    of: tuple[str, ...] = ()
    weights: str = ""
    files: tuple[str, ...] = ()
    chunk: int = 256
    threads: int = 1
    gpu: ClassVar[bool] = False
    invertible: ClassVar[bool] = True
    language: str = "en"
    packages: ClassVar[tuple[str, ...]] = ()
    published: ClassVar[bool] = False

    def rows(self, dataset: Items) -> Sequence[Item | Caption]:
        """Return the items, or captions, that the rows of the feature file describe, in order."""
        return dataset.items if self.unit == "item" else dataset.captions

    def setup(self, weights: Path | None) -> None:
        """Load what does not depend on data, for example a network. By default nothing.

        Args:
            weights: The file named in `weights`; None if it names none.

        Raises:
            CrossmodalError: If the file cannot be read, or does not suit the network.
        """

    def fit(self, dataset: Prepared, sources: dict[str, FeatureFile]) -> None:
        """Learn statistics from the training split. By default nothing.

        Args:
            dataset: The prepared dataset.
            sources: The features named in `of`.

        Raises:
            CrossmodalError: If there is nothing to learn from.
        """

    @abstractmethod
    def extract(
        self, dataset: Items, rows: Sequence[Any], sources: dict[str, FeatureFile]
    ) -> np.ndarray | list[np.ndarray]:
        """Return features of some rows.

        Args:
            dataset: What the rows belong to.
            rows: Some of `self.rows(dataset)`.
            sources: The same rows of the features named in `of`.

        Returns:
            Array (rows, d), or one array (length, ...) per row for sequences.

        Raises:
            CrossmodalError: If an input is corrupt; the message names it.
        """

    def words(self, text: str) -> dict[str, bool] | None:
        """Return each word of a text, and whether it is known; None where rows are not of words.

        Args:
            text: A text; where no word of it is known, its row says nothing.
        """
        return None

    def learnt(self) -> JsonObject:
        """Return all that `fit` learnt and `setup` found, as JSON: a vocabulary, a checksum."""
        return {}

    def restore(self, learnt: JsonObject) -> None:
        """Take over what was learnt, after `setup` and in place of `fit`. By default nothing.

        Args:
            learnt: What `learnt` returned.

        Raises:
            CrossmodalError: If the weights file is another one, or the feature cannot be computed
                for items of another dataset.
        """
