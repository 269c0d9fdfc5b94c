"""Prepared datasets as mteb's retrieval tasks."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from datasets import Dataset
from mteb.abstasks import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata

from crossmodal.data.media import PreparedMedia
from crossmodal.data.prepared import Item, Prepared
from crossmodal.data.split import label_matrix, label_names
from crossmodal.errors import CrossmodalError
from crossmodal.integrations.mteb.languages import language_and_script
from crossmodal.integrations.mteb.models import THEIRS
from crossmodal.io.files import digest
from crossmodal.io.image_files import read_image
from crossmodal.io.sound_files import decode_speech
from crossmodal.learning.selection import directions

Relevance = Literal["item", "category", "labels"]
Unit = Literal["item", "caption"]
DEPTHS = (1, 5, 10, 100)


@dataclass(frozen=True)
class Entry:
    """A query or a document.

    Args:
        id: Of the item or the caption.
        item: The item's index in the split.
        content: The text, or the file that the item names.
    """

    id: str
    item: int
    content: str


class PreparedRetrieval(AbsTaskRetrieval):
    """Retrieval between two modalities of a prepared dataset.

    Args:
        dataset: The prepared dataset.
        direction: Modalities of queries and documents.
        relevance: Relevant documents: 'item', of the same item; 'category', of the same category;
            'labels', with a label in common.
        unit: A text is one caption, or all captions of an item.
        split: 'train', 'validation' or 'test'.
        language: Of texts and speech, by BCP 47.

    Raises:
        CrossmodalError: If the split has no queries or no documents.
    """

    def __init__(
        self,
        dataset: PreparedMedia,
        direction: tuple[str, str],
        relevance: Relevance,
        unit: Unit,
        split: str,
        language: str,
    ) -> None:
        self.prepared, self.direction, self.relevance = dataset, direction, relevance
        self.items = dataset.split(split)
        self.entries = [_entries(dataset, self.items, modality, unit) for modality in direction]
        for modality, entries in zip(direction, self.entries, strict=True):
            if not entries:
                raise CrossmodalError(f"{dataset.folder}: split {split!r} has no {modality}")
        # average precision needs the whole ranking
        self.k_values = sorted({*DEPTHS, len(self.entries[1])})
        category = "2".join(THEIRS[modality][0] for modality in direction)
        by_item = relevance == "item"
        self.metadata = TaskMetadata(
            name=f"{dataset.folder.name}-{'-to-'.join(direction)}-by-{relevance}",
            description=f"A prepared dataset; relevant is what has the same {relevance}.",
            type="Any2AnyRetrieval",
            category=category,
            modalities=sorted(THEIRS[modality] for modality in direction),
            dataset={
                "path": dataset.folder.name,
                "revision": digest(split, unit, [vars(item) for item in self.items]),
            },
            eval_splits=[split],
            eval_langs=[language_and_script(language)],
            main_score="hit_rate_at_10" if by_item else f"map_at_{len(self.entries[1])}",
        )
        super().__init__()

    def load_data(self, **_: object) -> None:
        """Set queries, documents and relevance; images and speech are decoded when read."""
        queries, documents = self.entries
        split = {
            "queries": self._table(0),
            "corpus": self._table(1),
            "relevant_docs": {
                query.id: {documents[place].id: 1 for place in np.flatnonzero(relevant)}
                for query, relevant in zip(queries, self._relevant(), strict=True)
            },
            "top_ranked": None,
        }
        self.dataset = {"default": {self.metadata.eval_splits[0]: split}}
        self.data_loaded = True

    def unload_data(self) -> None:
        """Release the data of `load_data`."""
        self.dataset, self.data_loaded = {}, False

    def _relevant(self) -> np.ndarray:
        """Return the relevance of documents to queries, (q, n) bool."""
        rows, columns = ([entry.item for entry in side] for side in self.entries)
        if self.relevance == "item":
            return np.equal.outer(rows, columns)
        names = label_names(self.prepared, self.relevance)
        labels = label_matrix(self.items, names, self.relevance)
        return (labels.astype(np.float32) @ labels.T)[np.ix_(rows, columns)] > 0

    def _table(self, side: int) -> Dataset:
        modality, entries = self.direction[side], self.entries[side]
        ids, contents = [e.id for e in entries], [e.content for e in entries]
        table = Dataset.from_dict({"id": ids, THEIRS[modality]: contents})
        if modality == "text":
            return table
        read = read_image if modality == "image" else _clip
        return table.with_transform(_decoding(self.prepared, THEIRS[modality], read))


def retrieval_tasks(
    folder: Path,
    modalities: tuple[str, str] = ("image", "text"),
    *,
    relevance: Relevance = "item",
    unit: Unit = "caption",
    split: str = "test",
    language: str = "en",
) -> list[PreparedRetrieval]:
    """Return both retrieval tasks between two modalities of a prepared dataset.

    Args:
        folder: The prepared dataset, data/prepared/<key of `datasets`>.
        modalities: Two of 'image', 'text' and 'speech'.
        relevance: See `PreparedRetrieval`.
        unit: See `PreparedRetrieval`.
        split: See `PreparedRetrieval`.
        language: See `PreparedRetrieval`.

    Raises:
        CrossmodalError: If the dataset is incomplete, or its split lacks a modality.
    """
    dataset = PreparedMedia(folder)
    return [
        PreparedRetrieval(dataset, direction, relevance, unit, split, language)
        for direction in directions(list(modalities))
    ]


def _entries(dataset: Prepared, items: list[Item], modality: str, unit: Unit) -> list[Entry]:
    """Return queries or documents of some items, in the order of the features' rows."""
    if modality == "image":
        return [Entry(item.id, row, item.image) for row, item in enumerate(items) if item.image]
    captions = [dataset.captions_of[item.id] for item in items]
    if modality == "text" and unit == "item":
        texts = [" ".join(caption.text for caption in group) for group in captions]
        rows = enumerate(zip(items, texts, strict=True))
        return [Entry(item.id, row, text) for row, (item, text) in rows if text.strip()]
    contents = [
        Entry(caption.id, row, caption.text if modality == "text" else caption.audio)
        for row, group in enumerate(captions)
        for caption in group
    ]
    return [entry for entry in contents if entry.content.strip()]


def _decoding(
    dataset: Prepared, column: str, decode: Callable[[bytes, str], object]
) -> Callable[[dict[str, list[object]]], dict[str, list[object]]]:
    """Return a function that decodes a column of names of files, for the rows read."""

    def read(batch: dict[str, list[object]]) -> dict[str, list[object]]:
        members = [*map(str, batch.get(column, []))]
        contents = [decode(dataset.read(member), dataset.where(member)) for member in members]
        return batch | ({column: contents} if column in batch else {})

    return read


def _clip(content: bytes, name: str) -> dict[str, object]:
    """Return speech in mteb's form."""
    samples, rate = decode_speech(content, name)
    return {"array": samples, "sampling_rate": rate}
