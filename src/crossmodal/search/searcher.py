"""Search of one place with one model."""

import copy
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.io.text_table import shorten
from crossmodal.models.model import load
from crossmodal.search.gallery import Gallery, embed_items
from crossmodal.search.index import Hit, Index, open_index
from crossmodal.search.place import Place
from crossmodal.search.result import Described, Result

TEXT = 200  # characters of a query in a message


class Searcher:
    """A model and the items that it searches; indexes are opened at their first use.

    Args:
        folder: The model folder, models/<experiment>/seed<n>.
        weights: Folder of networks' weights.
        place: The items to search.

    Attributes:
        name: Experiment and seed.
        model: The model.

    Raises:
        CrossmodalError: If the model cannot be loaded.
    """

    def __init__(self, folder: Path, weights: Path, place: Place) -> None:
        self._folder, self._place = folder.resolve(), place
        self.name = "/".join(self._folder.parts[-2:])
        self.model = load(folder, weights)
        self._galleries: dict[str, Gallery] = {}
        self._indexes: dict[tuple[str, str], Index] = {}

    def targets(self, query: str) -> tuple[str, ...]:
        """Return the modalities that a modality can search, the other one first."""
        if query not in self.model.modalities:
            return ()
        other = self.other_than(query)
        return (other,) if self.model.method.task == "instance" else (other, query)

    def held_targets(self, query: str) -> tuple[str, ...]:
        """Return those of the targets of which the place has items."""
        return tuple(target for target in self.targets(query) if target in self.held)

    @cached_property
    def held(self) -> tuple[str, ...]:
        """The modalities of which the place has items."""
        return tuple(m for m in self.model.modalities if self._place.holds(m))

    def other_than(self, modality: str | None) -> str:
        """Return the modality that is not the given one, the first if none is given."""
        first, second = self.model.modalities
        return second if modality == first else first

    @cached_property
    def training(self) -> "Searcher":
        """The same model, which searches the items that it was fitted on."""
        other = copy.copy(self)
        other._place = self._place.training
        other._galleries, other._indexes = {}, {}
        other.held = self.model.modalities
        return other

    def prepare(self) -> None:
        """Open the index of every modality for every query, so that no search waits for it.

        Raises:
            CrossmodalError: If the place has no items.
        """
        for query in self.model.modalities:
            for target in self.held_targets(query):
                self._index(query, target)
        if not self.held:
            self.gallery(self.model.modalities[0])  # which says what it looked for

    def search(
        self,
        query: str,
        content: object,
        *,
        among: str | None = None,
        count: int = 10,
        threads: int = 1,
        approximate: bool = False,
    ) -> list[Result]:
        """Return the best items for one query.

        Args:
            query: Its modality.
            content: The query, as `Model.embed` takes it.
            among: Modality of the items; by default the model's other one.
            count: Number of items.
            threads: Number of threads.
            approximate: See `Index.search`.

        Raises:
            CrossmodalError: If the model does not compare these modalities or knows no word of the
                query, or the query or an item cannot be embedded.
        """
        target = self._target(query, among)
        if query == "text" and isinstance(content, str) and self.model.wordless([content]):
            raise CrossmodalError(
                f"{self.name}: the model knows no word of {shorten(content, TEXT)!r}, so that no "
                f"item suits it better than another; `crossmodal words {self._folder}` lists the "
                "known words"
            )
        row = embed_items(self.model, query, [content])
        index = self._index(query, target)
        hits = index.search(row, count, threads=threads, approximate=approximate)
        words = [word for word, is_known in self._words(query, content).items() if is_known]
        return self._results(target, hits, words)

    def search_by_row(
        self,
        query: str,
        row: np.ndarray,
        among: str | None = None,
        count: int = 10,
        threads: int = 1,
        approximate: bool = False,
    ) -> list[Result]:
        """Return the best items for features that are computed already.

        Args:
            query: Their modality.
            row: Features like those that the model was fitted on, (1, d).
            among: See `search`.
            count: Number of items.
            threads: Number of threads.
            approximate: See `Index.search`.

        Raises:
            CrossmodalError: If the row is of another width, or see `search`.
        """
        target = self._target(query, among)
        index, embedded = self._index(query, target), self.model.embed_features(query, row)
        hits = index.search(embedded, count, threads=threads, approximate=approximate)
        return self._results(target, hits, ())

    def search_like(
        self,
        query: str,
        id: str,
        among: str | None = None,
        count: int = 10,
        threads: int = 1,
        approximate: bool = False,
    ) -> list[Result]:
        """Return the best items for an item of the gallery; it is none of them.

        Args:
            query: Modality of the item.
            id: Of the item.
            among: See `search`.
            count: Number of items.
            threads: Number of threads.
            approximate: See `Index.search`.

        Raises:
            CrossmodalError: If there is no such item, or see `search`.
        """
        target = self._target(query, among)
        row = self.gallery(query).embed_item(self.model, id)
        index = self._index(query, target)
        hits = index.search(row, count + 1, threads=threads, approximate=approximate)
        others = [hit for hit in hits if target != query or hit.id != id]
        return self._results(target, others[:count], ())

    def sample(self, modality: str, count: int) -> tuple[list[Described], int]:
        """Return some items of a modality, from all over its gallery, and the number of all."""
        index = self._index(self.targets(modality)[0], modality)
        return [self._describe(modality, id) for id in index.sample(count)], len(index)

    def unknown_words(self, query: str, content: object) -> list[str]:
        """Return the words of a query that the model does not know; empty unless it is a text."""
        return [word for word, is_known in self._words(query, content).items() if not is_known]

    def gallery(self, modality: str) -> Gallery:
        """Return the items of one modality."""
        if modality not in self._galleries:
            self._galleries[modality] = self._place.gallery(modality, self.name, self.model)
        return self._galleries[modality]

    def _target(self, query: str, among: str | None) -> str:
        """Return the modality to search."""
        targets = self.targets(query)
        if not targets or (among or targets[0]) not in targets:
            raise CrossmodalError(
                f"{self.name}: the model cannot search {among or 'anything'} by {query}; it "
                f"compares {' and '.join(self.model.modalities)}"
            )
        return among or (self.held_targets(query) or targets)[0]

    def _words(self, query: str, content: object) -> dict[str, bool]:
        """Return the words of a query, and whether the model knows them."""
        if query != "text" or not isinstance(content, str):
            return {}
        return self.model.words(content) or {}

    def _results(self, target: str, hits: Sequence[Hit], words: Sequence[str]) -> list[Result]:
        results = []
        for rank, hit in enumerate(hits, 1):
            item = self._describe(target, hit.id)
            own = self._words("text", item.text) if words else {}
            result = Result(
                **asdict(item),
                rank=rank,
                score=hit.score,
                z_score=hit.z_score,
                common=tuple(word for word in words if word in own),
            )
            results.append(result)
        return results

    def _describe(self, modality: str, id: str) -> Described:
        gallery = self.gallery(modality)
        return Described(id, gallery.text(id), gallery.labels(id))

    def _index(self, query: str, target: str) -> Index:
        if (query, target) not in self._indexes:
            index = open_index(self._folder, self.model, self.gallery(target), query)
            self._indexes[query, target] = index
        return self._indexes[query, target]
