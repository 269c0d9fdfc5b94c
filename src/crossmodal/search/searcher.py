"""Search of one place with one model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crossmodal.config import params
from crossmodal.data.prepared import PREPARED
from crossmodal.errors import CrossmodalError
from crossmodal.io.text_table import shorten
from crossmodal.models.model import load
from crossmodal.search.folder_gallery import FolderGallery
from crossmodal.search.gallery import Gallery, SplitGallery, embed_items
from crossmodal.search.index import Index, open_index

TEXT = 200  # characters of a query in a message


@dataclass(frozen=True)
class Place:
    """The items to search.

    Args:
        folder: A folder of files; None: the dataset that the model was fitted on.
        split: Its split.
        params: The params.yaml that names the dataset.
        overlays: Files laid over it.
    """

    folder: Path | None
    split: str
    params: Path
    overlays: Sequence[Path] = ()


@dataclass(frozen=True)
class Result:
    """An item that a search returns.

    Args:
        rank: From 1.
        score: The method's score of query and item; higher is better.
        id: Of the item; in a folder its path.
        text: Its text, if that is known.
        labels: Its labels, if it has some.
    """

    rank: int
    score: float
    id: str
    text: str
    labels: tuple[str, ...]


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
        first, second = self.model.modalities
        if query not in (first, second):
            return ()
        other = second if query == first else first
        return (other,) if self.model.method.task == "instance" else (other, query)

    def prepare(self) -> None:
        """Open the index of every modality for every query, so that no search waits for it."""
        for query in self.model.modalities:
            for target in self.targets(query):
                self._index(query, target)

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
        targets = self.targets(query)
        if not targets or (among or targets[0]) not in targets:
            raise CrossmodalError(
                f"{self.name}: the model cannot search {among or 'anything'} by {query}; it "
                f"compares {' and '.join(self.model.modalities)}"
            )
        if query == "text" and isinstance(content, str) and self.model.wordless([content]):
            raise CrossmodalError(
                f"{self.name}: the model knows no word of {shorten(content, TEXT)!r}, so that no "
                f"item suits it better than another; `crossmodal words {self._folder}` lists the "
                "known words"
            )
        target = among or targets[0]
        index = self._index(query, target)
        embedded = embed_items(self.model, query, [content])
        hits = index.search(embedded, count, threads=threads, approximate=approximate)
        gallery = self.gallery(target)
        return [
            Result(rank, hit.score, hit.id, gallery.text(hit.id), gallery.labels(hit.id))
            for rank, hit in enumerate(hits, 1)
        ]

    def unknown_words(self, query: str, content: object) -> list[str]:
        """Return the words of a query that the model does not know; empty unless it is a text."""
        if query != "text" or not isinstance(content, str):
            return []
        words = self.model.words(content) or {}
        return [word for word, is_known in words.items() if not is_known]

    def gallery(self, modality: str) -> Gallery:
        """Return the items of one modality."""
        if modality not in self._galleries:
            folder = self._place.folder
            gallery = FolderGallery(folder, modality) if folder else self._split(modality)
            self._galleries[modality] = gallery
        return self._galleries[modality]

    def _split(self, modality: str) -> SplitGallery:
        """Return the split of the dataset that the model was fitted on."""
        files = (self._place.params, *self._place.overlays)
        experiments = params.read(*files).experiments
        experiment = experiments.get(self._folder.parent.name)
        if not experiment:
            raise CrossmodalError(
                f"{', '.join(map(str, files))}: no experiment {self._folder.parent.name!r}, which "
                "would say what the model was fitted on; name the file that has it with "
                "--configfile, or a folder with --in"
            )
        feature = next(name for view, name in experiment.views.items() if view == modality)
        return SplitGallery(
            PREPARED / experiment.dataset,
            self._place.split,
            modality,
            Path("features", experiment.dataset, f"{feature}.h5"),
            # of an experiment with changed categories, these are of some of the items alone
            None if experiment.changes else Path("embeddings", f"{self.name}.h5"),
            self.model,
        )

    def _index(self, query: str, target: str) -> Index:
        if (query, target) not in self._indexes:
            index = open_index(self._folder, self.model, self.gallery(target), query)
            self._indexes[query, target] = index
        return self._indexes[query, target]
