"""Indexes: the embeddings of a gallery, built once and memory-mapped, until their inputs change.

A folder `.search/<what>-<state>/` each, which may be deleted at any time. `ids.npy` (n,) UTF-8;
`rows.npy` (n, ...), the embeddings, or the form of them whose inner products are the scores;
`index.json`, which form; `cells.faiss`, for approximate search, when it was asked for.
"""

import shutil
import sys
import tempfile
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import DAMAGE, digest, read_json, replacing, sync, write_json
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
    """An item that was found.

    Args:
        id: Of the item, in its gallery.
        score: The method's score of query and item.
    """

    id: str
    score: float


class Index:
    """A gallery as a model sees it, for queries of one modality.

    Args:
        model: The model.
        direction: Modalities of query and gallery.
        folder: Where the files are.

    Raises:
        CrossmodalError: If a file is missing or corrupt.
    """

    def __init__(self, model: Model, direction: Direction, folder: Path) -> None:
        self._model, self._direction, self._folder = model, direction, folder
        try:
            self._form: str | None = read_json(folder / "index.json")["form"]
            if self._form not in (None, *FORMS):
                raise ValueError(f"no form of inner products is called {self._form!r}")
            self._ids, self._rows = (
                np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("ids", "rows")
            )
        except DAMAGE as error:
            raise CrossmodalError(f"{folder}: corrupt ({error}); delete it and search again") from (
                error
            )

    def __len__(self) -> int:
        return len(self._ids)

    def search(
        self, query: np.ndarray, count: int, *, threads: int = 1, approximate: bool = False
    ) -> list[Hit]:
        """The items of the highest scores, best first.

        Args:
            query: One embedding, (1, ...).
            count: How many items are wanted.
            threads: Processors to be used.
            approximate: Compare with items in the query's neighbourhood alone.

        Raises:
            CrossmodalError: If a score is NaN, or approximate search is asked for where the score
                is no inner product, or without FAISS.
        """
        if self._form:
            query = np.ascontiguousarray(FORMS[self._form](query), np.float32)
        near = self._near(query, count, threads) if approximate else slice(None)
        rows, scores = best_rows(
            partial(self._score, query), self._rows[near], count, threads=threads
        )
        if approximate:
            rows = near[rows]
        found = zip(self._ids[rows[0]], scores[0], strict=True)
        return [Hit(id.decode(), float(score)) for id, score in found]

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
        path = self._folder / "cells.faiss"
        if not path.exists():
            with replacing(path) as temporary:
                recall = write_neighbours(self._rows, temporary, threads)
            print(f"{path}: recall@10 of its own rows is {recall:.3f}", file=sys.stderr)
        return self._neighbours.near(query[0], count, threads)

    @cached_property
    def _neighbours(self) -> Neighbours:
        return Neighbours(self._folder / "cells.faiss")


def open_index(
    folder: Path, model: Model, gallery: Gallery, query: str, root: Path = ROOT
) -> Index:
    """The index of a gallery; it is built where there is none of this state of its inputs.

    Args:
        folder: The model folder.
        model: The model in it.
        gallery: What is searched.
        query: Modality of the queries.
        root: Where indexes are kept.

    Raises:
        CrossmodalError: If the gallery cannot be embedded.
    """
    direction = (query, gallery.modality)
    files = [folder / name for name in ("model.json", "model.safetensors")]
    state = [FORMAT, gallery.stamp(), *((f.stat().st_size, f.stat().st_mtime_ns) for f in files)]
    what = digest(str(folder.resolve()), gallery.name, direction)
    place = root / f"{what}-{digest(state)}"
    if not place.exists():
        write_index(place, *gallery.embed(model), model, direction)
        for other in root.glob(f"{what}-*"):
            if other != place:
                shutil.rmtree(other, ignore_errors=True)
    return Index(model, direction, place)


def write_index(
    place: Path, ids: list[str], rows: np.ndarray, model: Model, direction: Direction
) -> None:
    """Write an index, complete or not at all.

    Args:
        place: Its folder, which does not exist.
        ids: Of the items, (n,).
        rows: Their embeddings, (n, ...).
        model: The model that made them.
        direction: Modalities of query and gallery.
    """
    form = find_form(model, direction, rows.shape[1:])
    if form:
        rows = np.ascontiguousarray(FORMS[form](rows), np.float32)
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}."))
    try:
        np.save(temporary / "ids.npy", np.array([id.encode() for id in ids]))
        np.save(temporary / "rows.npy", rows)
        write_json(temporary / "index.json", {"form": form})
        temporary.chmod(place.parent.stat().st_mode)  # for all who may read what is beside it
        if not place.exists():  # as another process may have been faster
            for path in (*temporary.iterdir(), temporary):
                sync(path)
            temporary.rename(place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
