"""Galleries: the items of one modality that are searched."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from crossmodal.data.feature_file import Ragged
from crossmodal.data.feature_reader import read_features
from crossmodal.data.media import PreparedMedia
from crossmodal.data.prepared import Caption, Item
from crossmodal.errors import CrossmodalError
from crossmodal.models.embedding_file import SPLITS, read_embedded_facts, read_embedded_rows
from crossmodal.models.model import ARGUMENTS, Model


class Gallery(ABC):
    """Items of one modality.

    Attributes:
        name: Place of the items, for messages.
        modality: 'image', 'text' or 'speech'.
    """

    name: str
    modality: str

    @property
    def is_embedded(self) -> bool:
        """Return whether their embeddings are in a file already."""
        return False

    @abstractmethod
    def stamp(self) -> list[object]:
        """Return a JSON value that changes when the items do."""

    @abstractmethod
    def embed(self, model: Model) -> tuple[list[str], np.ndarray]:
        """Return the ids of all items, (n,), and their embeddings, (n, ...).

        Raises:
            CrossmodalError: If there are none, or one cannot be embedded.
        """

    def embed_item(self, model: Model, id: str) -> np.ndarray:
        """Return the embedding of one item, (1, ...).

        Raises:
            CrossmodalError: If there is no such item, or it cannot be embedded.
        """
        try:
            content = self.text(id) if self.modality == "text" else self.media(id)
        except (KeyError, OSError) as error:
            raise self._lacks(id) from error
        return embed_items(model, self.modality, [content])

    def _lacks(self, id: str, ids: Sequence[str] = ()) -> CrossmodalError:
        like = next((f", as {own!r}" for own in ids if own.startswith(id)), "")
        return CrossmodalError(
            f"{self.name}: has no {self.modality} {id!r}; name an item of it{like}, or reload the "
            "page that shows it"
        )

    @abstractmethod
    def text(self, id: str) -> str:
        """Return the text of an item; empty if that is unknown."""

    @abstractmethod
    def labels(self, id: str) -> tuple[str, ...]:
        """Return the labels of an item."""

    @abstractmethod
    def media(self, id: str) -> bytes:
        """Return the encoded image or speech of an item; empty if it has none."""


class SplitGallery(Gallery):
    """A split of a prepared dataset.

    Args:
        dataset: Folder of the prepared dataset.
        split: 'train', 'validation' or 'test'.
        modality: Of the items.
        feature: Feature file of that modality.
        embeddings: The run's embedding file, which may be missing; None: not of the same items.
        model: The model.
    """

    def __init__(
        self,
        dataset: Path,
        split: str,
        modality: str,
        feature: Path,
        embeddings: Path | None,
        model: Model,
    ) -> None:
        self.name, self.modality = f"{dataset.name}, {split}", modality
        self._split, self._feature, self._prepared = split, feature, PreparedMedia(dataset)
        self._files = [dataset / "splits.csv", feature]
        self._embedded: Path | None = None
        if embeddings and split in SPLITS and _is_current(embeddings, self._files, model):
            self._files, self._embedded = [embeddings], embeddings

    @property
    def is_embedded(self) -> bool:
        """Return whether the workflow has embedded the split."""
        return self._embedded is not None

    def stamp(self) -> list[object]:
        """Return names, sizes and times of the files that define the items."""
        return [self._split, *map(stamp_of, self._files)]

    def embed(self, model: Model) -> tuple[list[str], np.ndarray]:
        """Read the embeddings, or compute them from the feature file."""
        if self._embedded:
            return self._stored
        return self._computed(model, [item.id for item in self._prepared.split(self._split)])

    def embed_item(self, model: Model, id: str) -> np.ndarray:
        """Return the embedding of one item, see `Gallery.embed_item`."""
        item = self._captions[id].item if id in self._captions else id
        if item not in self._items:
            raise self._lacks(id)
        ids, rows = self._stored if self._embedded else self._computed(model, [item])
        if id not in ids:
            raise self._lacks(id, ids)
        return rows[[ids.index(id)]]

    @cached_property
    def _stored(self) -> tuple[list[str], np.ndarray]:
        """Ids and embeddings in the run's embedding file."""
        assert self._embedded
        return read_embedded_rows(self._embedded, self._split, self.modality)

    def _computed(self, model: Model, items: list[str]) -> tuple[list[str], np.ndarray]:
        """Return ids and embeddings of the rows of some items, from the feature file."""
        content = read_features(self._feature, items)
        if not content.ids:
            raise CrossmodalError(f"{self.name}: the split has no {self.modality}")
        if content.meta != model.features[self.modality]:
            raise CrossmodalError(
                f"{self._feature}: its extraction differs from that of the model's features; "
                "train the model again"
            )
        rows = content.features
        sequences = [*map(rows.__getitem__, range(len(rows)))] if isinstance(rows, Ragged) else rows
        return content.ids, model.embed_features(self.modality, sequences)

    def text(self, id: str) -> str:
        """Return the caption; of an item all of them."""
        captions = [self._captions[id]] if id in self._captions else self._prepared.captions_of[id]
        return " · ".join(caption.text for caption in captions)

    def labels(self, id: str) -> tuple[str, ...]:
        """Return the labels of the item.

        Raises:
            CrossmodalError: If the dataset has lost the item.
        """
        item = self._captions[id].item if id in self._captions else id
        if item not in self._items:
            raise CrossmodalError(
                f"{self._prepared.folder / 'items.csv'}: {item!r} is missing, which "
                f"{self._files[-1]} has; delete the folder and run again"
            )
        return self._items[item].labels

    def media(self, id: str) -> bytes:
        """Return the file of the dataset that the item names."""
        if self.modality == "image":
            member = self._items[id].image
        else:
            member = self._captions[id].audio if id in self._captions else ""
        return self._prepared.read(member) if member else b""

    @cached_property
    def _items(self) -> dict[str, Item]:
        return {item.id: item for item in self._prepared.items}

    @cached_property
    def _captions(self) -> dict[str, Caption]:
        return {caption.id: caption for caption in self._prepared.captions}


def embed_items(
    model: Model, modality: str, items: Sequence[object], label: str = ""
) -> np.ndarray:
    """Embed new items of a modality, see `Model.embed`."""
    arguments: dict[str, Any] = {ARGUMENTS[modality]: items, "label": label}
    return model.embed(**arguments)


def _is_current(embeddings: Path, inputs: Sequence[Path], model: Model) -> bool:
    """Return whether an embedding file is newer than its inputs, and of the same fit."""
    if not embeddings.is_file():
        return False
    time = embeddings.stat().st_mtime_ns
    is_newer = all(path.stat().st_mtime_ns <= time for path in inputs if path.exists())
    return is_newer and read_embedded_facts(embeddings) == model.facts


def stamp_of(path: Path) -> tuple[str, int, int]:
    """Return name, size and time of a file."""
    try:
        status = path.stat()
    except OSError as error:
        raise CrossmodalError(f"{path}: {error.strerror}; run the workflow for it first") from error
    return str(path.resolve()), status.st_size, status.st_mtime_ns
