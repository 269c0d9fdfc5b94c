"""Embedding files: the validation and test splits as a fitted method embeds them.

Layout: per split and modality `embeddings` (rows, ...), `ids` (rows,), `items` (rows,) the index of
the item of each row and, where the dataset has labels, `labels` (rows, C); attribute `model`, the
facts of the fit as JSON; attribute `made`, provenance as JSON; attribute `modalities`, first and
second view; attribute `score`, 'cosine' where the method compares rows so, else 'own'. Group
`scoring` has the arrays that a `PairScorer` needs to score.
"""

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import h5py
import numpy as np

from crossmodal.config import plugins
from crossmodal.data.split import Split
from crossmodal.io import hdf5
from crossmodal.io.files import replacing
from crossmodal.io.provenance import Provenance
from crossmodal.learning.contract import score
from crossmodal.learning.method import Direction, Method
from crossmodal.learning.pair_scorer import PairScorer
from crossmodal.learning.selection import directions, pools
from crossmodal.metrics.blocks import ScoreRows
from crossmodal.metrics.retrieval import Pool
from crossmodal.models.fit_facts import Facts
from crossmodal.vectors import inner_product

SPLITS = ("validation", "test")
SCORING = "scoring"
MODALITY = re.compile(r"\w+")


@dataclass(frozen=True)
class Embedded:
    """Embeddings of a fitted method.

    Args:
        facts: Facts of the fit, as in model.json.
        splits: 'validation' and 'test' -> modality -> pool, first and second view.
        ids: Ids of the test split's rows by modality.
        cosine: True if rows are compared by the cosine, so that no method has to be imported.
        scoring: What a `PairScorer` needs to score, by name.
    """

    facts: Facts
    splits: dict[str, dict[str, Pool]]
    ids: dict[str, list[str]]
    cosine: bool
    scoring: dict[str, np.ndarray] = field(default_factory=dict)

    @cached_property
    def method(self) -> Method:
        """The method with the options that were chosen; it can score, not embed."""
        facts = self.facts
        method: Method = plugins.make("methods", facts["plugin"], facts["options"], "options")
        if isinstance(method, PairScorer):
            method.restore_scoring(self.scoring)
        return method

    @property
    def by_label(self) -> bool:
        """True if items that share a label are relevant, false if only the own item is."""
        labelled = all(pool.labels is not None for pool in self.splits["test"].values())
        return self.method.task == "category" and labelled

    def directions(self) -> list[Direction]:
        """Return query and gallery of both directions."""
        return directions(list(self.ids))

    def pools(self, split: str, direction: Direction) -> tuple[Pool, Pool]:
        """Return queries and gallery of a split."""
        query, gallery = direction
        return self.splits[split][query], self.splits[split][gallery]

    def scorer(self, split: str, query: str, gallery: str) -> ScoreRows:
        """Return a function of rows: scores (rows, n) of queries against a gallery."""
        direction = query, gallery
        queries, documents = (pool.embeddings for pool in self.pools(split, direction))
        if self.cosine:
            return lambda rows: inner_product(queries[rows], documents)
        return lambda rows: score(self.method, queries[rows], documents, direction)


def write_embeddings(
    path: Path,
    facts: Facts,
    method: Method,
    splits: dict[str, Split],
    provenance: Provenance,
) -> None:
    """Embed and write atomically, one split after the other.

    Args:
        path: The embedding file.
        facts: Facts of the fit.
        method: The fitted method.
        splits: One of each name in `SPLITS`.
        provenance: Of the file.
    """
    with replacing(path) as temporary, hdf5.create(temporary) as file:
        modalities = list(splits["test"].views)[:2]
        for attribute, value in (
            ("model", facts),
            ("made", provenance),
            ("modalities", modalities),
            ("score", "cosine" if method.cosine else "own"),
        ):
            hdf5.describe(file, attribute, json.dumps(value))
        for name, split in splits.items():
            for modality, pool in pools(method, split).items():
                ids = split.views[modality].ids
                _write_pool(file.create_group(f"{name}/{modality}"), pool, ids)
        if isinstance(method, PairScorer):
            group = file.create_group(SCORING)
            for name, array in method.scoring_state().items():
                hdf5.store(group, name, array)


def _write_pool(group: h5py.Group, pool: Pool, ids: list[str]) -> None:
    hdf5.store(group, "embeddings", pool.embeddings)
    hdf5.store(group, "items", pool.items)
    hdf5.store_strings(group, "ids", ids)
    if pool.labels is not None:
        hdf5.store(group, "labels", pool.labels)


def read_embeddings(path: Path) -> Embedded:
    """Read an embedding file.

    Raises:
        CrossmodalError: If it is missing or corrupt.
    """
    with hdf5.naming_damage(path, "embedding file"), hdf5.read(path) as file:
        facts = json.loads(file.attrs["model"])
        modalities = json.loads(file.attrs["modalities"])
        if (
            len(modalities) != 2
            or len({*modalities}) != 2
            or not all(map(MODALITY.fullmatch, modalities))
        ):
            raise ValueError(f"modalities {modalities}")
        scored = json.loads(file.attrs.get("score", '"own"'))  # earlier files do not say
        if scored not in ("cosine", "own"):
            raise ValueError(f"score {scored!r}")
        splits = {
            split: {m: _read_pool(file, f"{split}/{m}") for m in modalities} for split in SPLITS
        }
        _check_widths(splits, scored == "cosine")
        ids = {m: _read_ids(file, f"test/{m}") for m in modalities}
        names = file.get(SCORING, ())
        scoring = {name: _part(file, f"{SCORING}/{name}")[()] for name in names}
        return Embedded(facts, splits, ids, scored == "cosine", scoring)


def read_embedded_facts(path: Path) -> Facts:
    """Return the facts of the fit whose embeddings a file has.

    Raises:
        CrossmodalError: If it is missing or corrupt.
    """
    with hdf5.naming_damage(path, "embedding file"), hdf5.read(path) as file:
        return json.loads(file.attrs["model"])


def read_embedded_rows(path: Path, split: str, modality: str) -> tuple[list[str], np.ndarray]:
    """Read ids (n,) and embeddings (n, ...) of one modality of a split.

    Raises:
        CrossmodalError: If the file is missing or corrupt.
    """
    with hdf5.naming_damage(path, "embedding file"), hdf5.read(path) as file:
        place = f"{split}/{modality}"
        return _read_ids(file, place), _read_rows(file, place)


def _part(file: h5py.File, name: str) -> h5py.Dataset:
    """Return an array whose entries are in it: of others, all may be one that fills the file."""
    member = hdf5.part(file, name)
    if member.dtype.hasobject:
        raise ValueError(f"{name} has entries of different lengths")
    return member


def _read_ids(file: h5py.File, place: str) -> list[str]:
    return _part(file, f"{place}/ids").asstr()[()].tolist()


def _read_rows(file: h5py.File, place: str) -> np.ndarray:
    """Return embeddings (n, ...), one of each id; vectors are finite."""
    rows, ids = _part(file, f"{place}/embeddings")[()], _part(file, f"{place}/ids")
    if rows.ndim < 2 or not len(rows) or (len(rows),) != ids.shape:
        raise ValueError(f"{place}: embeddings of shape {rows.shape}, ids of shape {ids.shape}")
    # behind sequences of different lengths there may be padding that is no number
    if rows.ndim == 2 and not np.isfinite(rows).all():
        raise ValueError(f"{place}: embeddings that are NaN or infinite")
    return rows


def _read_pool(file: h5py.File, place: str) -> Pool:
    embeddings, items = _read_rows(file, place), _part(file, f"{place}/items")[()]
    labelled = f"{place}/labels" in file
    labels = _part(file, f"{place}/labels")[()] if labelled else None
    if items.shape != embeddings.shape[:1] or items.dtype.kind not in "iu":
        raise ValueError(f"{place}: items of shape {items.shape} and type {items.dtype}")
    if labels is not None and (labels.ndim != 2 or len(labels) != len(items)):
        raise ValueError(f"{place}: labels of shape {labels.shape} of {len(items)} rows")
    return Pool(embeddings, items, labels)


def _check_widths(splits: dict[str, dict[str, Pool]], cosine: bool) -> None:
    """Check that pools that are compared have the same labels and, for the cosine, widths."""
    for split, sides in splits.items():
        labels = [None if side.labels is None else side.labels.shape[1] for side in sides.values()]
        if len({*labels}) > 1:
            raise ValueError(f"{split}: modalities of {labels[0]} and {labels[1]} labels")
    rows = [[side.embeddings for side in sides.values()] for sides in splits.values()]
    for compared in [*zip(*rows, strict=True), *(rows if cosine else [])]:
        shapes = [embeddings.shape for embeddings in compared]
        if len({(len(shape), *shape[1:][-1:]) for shape in shapes}) > 1:
            raise ValueError(f"embeddings of shapes {shapes[0]} and {shapes[1]}")
