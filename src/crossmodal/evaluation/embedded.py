"""The embedding file of a run, as the steps after it read it."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py

from crossmodal import plugins
from crossmodal.errors import CrossmodalError
from crossmodal.evaluation.retrieval import Pool, ScoreRows
from crossmodal.evaluation.selection import directions
from crossmodal.methods.base import Direction, Method


@dataclass(frozen=True)
class Embedded:
    """What a method embedded.

    Args:
        facts: Facts of the fit, as in model.json.
        splits: 'validation' and 'test' -> modality -> pool, first and second view.
        ids: Ids of the test split's rows by modality.
    """

    facts: dict[str, Any]
    splits: dict[str, dict[str, Pool]]
    ids: dict[str, list[str]]

    @cached_property
    def method(self) -> Method:
        """The method with the options that were chosen; it can score, not embed."""
        return plugins.make("methods", self.facts["plugin"], self.facts["options"], "options")

    @property
    def by_label(self) -> bool:
        """Whether what shares a label is relevant, or only the own item."""
        labelled = all(pool.labels is not None for pool in self.splits["test"].values())
        return self.method.task == "category" and labelled

    def directions(self) -> list[Direction]:
        """Query and gallery of both directions."""
        return directions(list(self.ids))

    def scorer(self, split: str, query: str, gallery: str) -> ScoreRows:
        """The method's scores (rows, n) of queries of one modality against a gallery."""
        queries, documents = (self.splits[split][m].embeddings for m in (query, gallery))
        return lambda rows: self.method.score(queries[rows], documents, (query, gallery))


def read_embedded(path: Path) -> Embedded:
    """Read an embedding file.

    Raises:
        CrossmodalError: If it is missing or damaged.
    """
    try:
        with h5py.File(path) as file:
            facts = json.loads(file.attrs["model"])
            modalities = [str(m) for m in file.attrs["modalities"]]
            splits = {
                split: {m: _read_pool(file[split][m]) for m in modalities}
                for split in ("validation", "test")
            }
            ids = {m: file["test"][m]["ids"].asstr()[()].tolist() for m in modalities}
            return Embedded(facts, splits, ids)
    except (OSError, KeyError) as error:
        raise CrossmodalError(f"{path}: not a whole embedding file ({error})") from error


def _read_pool(group: h5py.Group) -> Pool:
    labels = group["labels"][()] if "labels" in group else None
    return Pool(group["embeddings"][()], group["items"][()], labels)
