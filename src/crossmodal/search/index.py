"""Indexes: the embeddings of a gallery, in the form in which they are compared.

Embeddings that are in no file yet are computed once and memory-mapped, until their inputs change: a
folder `.search/<gallery>-<state>/` each, which may be deleted at any time. `ids.npy` (n,) UTF-8;
`rows.npy` (n, ...), the embeddings, or the form of them whose inner products are the scores;
`index.json`, the name of the form; `cells.faiss`, for approximate search, when it was asked for.
"""

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import DAMAGE, digest, remove_unfinished, replacing, sync, write_json
from crossmodal.learning.method import Direction
from crossmodal.models.model import Model
from crossmodal.search.best_rows import best_rows
from crossmodal.search.gallery import Gallery
from crossmodal.search.inner_products import FORMS, find_form
from crossmodal.search.neighbours import Neighbours, write_neighbours

FORMAT = 1
ROOT = Path(".search")


@dataclass(frozen=True)
class Hit:
    """A result of a search.

    Args:
        id: Of the item, in its gallery.
        score: The method's score of query and item.
        z_score: By how many standard deviations of the scores of all items this one is above
            their mean; None if they are all equal, or only some items were compared.
    """

    id: str
    score: float
    z_score: float | None


@dataclass(frozen=True)
class Rows:
    """Embeddings, ready to be compared.

    Args:
        ids: Of the items, UTF-8, (n,).
        rows: Embeddings, (n, ...), in their form.
        form: Key of `FORMS`; None: the embeddings as they are, which the method scores.
    """

    ids: np.ndarray
    rows: np.ndarray
    form: str | None


class Index:
    """A gallery as a model sees it, for queries of one modality.

    Args:
        model: The model.
        direction: Modalities of query and gallery.
        content: The embeddings.
        cells: File for approximate search, which need not exist.
    """

    def __init__(self, model: Model, direction: Direction, content: Rows, cells: Path) -> None:
        self._model, self._direction, self._cells = model, direction, cells
        self._ids, self._rows, self._form = content.ids, content.rows, content.form

    def __len__(self) -> int:
        return len(self._ids)

    def sample(self, count: int) -> list[str]:
        """Return ids of items at equal distances in the gallery."""
        rows = np.linspace(0, len(self) - 1, min(count, len(self))).astype(int)
        return [id.decode() for id in self._ids[rows]]

    def search(
        self, query: np.ndarray, count: int, *, threads: int = 1, approximate: bool = False
    ) -> list[Hit]:
        """Return the items of the highest scores, best first.

        Args:
            query: One embedding, (1, ...).
            count: Number of items.
            threads: Number of threads.
            approximate: Compare only with items in the query's neighbourhood.

        Raises:
            CrossmodalError: If a score is NaN, or for approximate search if the score is no inner
                product or FAISS is not installed.
        """
        if self._form:
            query = np.ascontiguousarray(FORMS[self._form](query), np.float32)
        near = self._near(query, count, threads) if approximate else None
        gallery = self._rows if near is None else self._rows[near]
        best = best_rows(partial(self._score, query), gallery, count, threads=threads)
        rows, scores, mean, deviation = *best.rows, *best.scores, *best.mean, *best.deviation
        ids = self._ids[rows if near is None else near[rows]]
        # rounding alone is no spread
        is_spread = near is None and deviation > 1e-6 * max(1.0, abs(mean))
        above = (scores - mean) / deviation if is_spread else [None] * len(scores)
        return [
            Hit(id.decode(), float(score), None if d is None else float(d))
            for id, score, d in zip(ids, scores, above, strict=True)
        ]

    def _score(self, query: np.ndarray, block: np.ndarray) -> np.ndarray:
        if self._form:
            return query @ block.T
        return self._model.score(query, np.array(block), self._direction)

    def _near(self, query: np.ndarray, count: int, threads: int) -> np.ndarray:
        if not self._form:
            raise CrossmodalError(
                f"{self._model.facts['plugin']}: the score is no inner product, for which there is "
                "no approximate search; search exactly"
            )
        if not self._cells.exists():
            with replacing(self._cells) as temporary:
                recall = write_neighbours(self._rows, temporary, threads)
            print(f"{self._cells}: recall@10 of its own rows is {recall:.3f}", file=sys.stderr)
        return self._neighbours.near(query[0], count, threads)

    @cached_property
    def _neighbours(self) -> Neighbours:
        return Neighbours(self._cells)


def open_index(
    folder: Path, model: Model, gallery: Gallery, query: str, root: Path = ROOT
) -> Index:
    """Return the index of a gallery; build it if there is none of this state of its inputs.

    Args:
        folder: The model folder.
        model: The model in it.
        gallery: The items to search.
        query: Modality of the queries.
        root: Folder of all indexes.

    Raises:
        CrossmodalError: If the gallery cannot be embedded.
    """
    direction = (query, gallery.modality)
    files = [folder / name for name in ("model.json", "model.safetensors")]
    state = [FORMAT, gallery.stamp(), *((f.stat().st_size, f.stat().st_mtime_ns) for f in files)]
    name = digest(str(folder.resolve()), gallery.name, direction)
    place = root / f"{name}-{digest(state)}"
    if not place.exists():
        for other in root.glob(f"{name}-*"):
            shutil.rmtree(other, ignore_errors=True)

    def embedded() -> Rows:
        return in_form(*gallery.embed(model), model, direction)

    if not gallery.is_embedded and not place.exists():
        _write(place, embedded)
    content = embedded() if gallery.is_embedded else read_rows(place)
    return Index(model, direction, content, place / "cells.faiss")


def in_form(ids: list[str], rows: np.ndarray, model: Model, direction: Direction) -> Rows:
    """Return embeddings in the form whose inner products are the model's scores, if there is one.

    Args:
        ids: Of the items, (n,).
        rows: Their embeddings, (n, ...).
        model: The model that scores them.
        direction: Modalities of query and gallery.
    """
    if form := find_form(model, direction, rows.shape[1:]):
        rows = np.ascontiguousarray(FORMS[form](rows), np.float32)
    return Rows(np.array([id.encode() for id in ids]), rows, form)


def read_rows(place: Path) -> Rows:
    """Open an index, memory-mapped.

    Raises:
        CrossmodalError: If a file is missing or corrupt.
    """
    try:
        form = json.loads((place / "index.json").read_text("utf-8"))["form"]
        if form not in (None, *FORMS):
            raise ValueError(f"{form!r} is no form of inner products")
        ids, rows = (np.load(place / f"{name}.npy", mmap_mode="r") for name in ("ids", "rows"))
        if ids.shape != rows.shape[:1]:
            raise ValueError(f"ids of shape {ids.shape}, rows of shape {rows.shape}")
        return Rows(ids, rows, form)
    except (*DAMAGE, TypeError) as error:
        raise CrossmodalError(f"{place}: corrupt ({error}); delete it and search again") from error


def _write(place: Path, embedded: Callable[[], Rows]) -> None:
    """Write an index, complete or not at all; nothing is embedded where none can be written."""
    remove_unfinished(place.parent)
    try:
        with replacing(place) as temporary:
            temporary.mkdir()
            content = embedded()
            np.save(temporary / "ids.npy", content.ids)
            np.save(temporary / "rows.npy", content.rows)
            write_json(temporary / "index.json", {"form": content.form})
            for path in temporary.iterdir():
                sync(path)
    except OSError:
        if not place.exists():  # otherwise another process was faster
            raise
