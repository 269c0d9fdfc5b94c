"""A model, what it searches, and what it finds."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crossmodal.config import params
from crossmodal.errors import CrossmodalError
from crossmodal.models.model import ARGUMENTS, load
from crossmodal.search.gallery import FolderGallery, Gallery, SplitGallery
from crossmodal.search.index import Index, open_index


@dataclass(frozen=True)
class Place:
    """Where to search.

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
    """An item that was found.

    Args:
        rank: From 1.
        score: The method's score of query and item; higher is better.
        id: Of the item; in a folder its path.
        text: What it says, if that is known.
        labels: Its labels, if it has some.
    """

    rank: int
    score: float
    id: str
    text: str
    labels: tuple[str, ...]


class Searcher:
    """Searches one place with one model; each index is opened when it is first needed.

    Args:
        folder: The model folder, models/<experiment>/seed<n>.
        weights: Folder of networks' weights.
        place: Where to search.

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
        """Modalities that can be searched by a modality, the other one first."""
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
        content: Any,
        *,
        among: str | None = None,
        count: int = 10,
        threads: int = 1,
        approximate: bool = False,
    ) -> list[Result]:
        """The best items for one query.

        Args:
            query: Its modality.
            content: The query, as `Model.embed` takes it.
            among: Modality of the items; by default the model's other one.
            count: How many items are wanted.
            threads: Processors to be used.
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
        if query == "text" and self.model.wordless([content]):
            raise CrossmodalError(
                f"{self.name}: the model knows no word of {content!r}, so that no item suits it "
                f"better than another; `crossmodal words {self._folder}` lists the known words"
            )
        target = among or targets[0]
        index = self._index(query, target)
        embedded = self.model.embed(**{ARGUMENTS[query]: [content]})
        hits = index.search(embedded, count, threads=threads, approximate=approximate)
        gallery = self.gallery(target)
        return [
            Result(rank, hit.score, hit.id, gallery.text(hit.id), gallery.labels(hit.id))
            for rank, hit in enumerate(hits, 1)
        ]

    def unknown_words(self, query: str, content: Any) -> list[str]:
        """Return the words of a query that the model does not know; empty unless it is a text."""
        words = (self.model.words(content) if query == "text" else None) or {}
        return [word for word, is_known in words.items() if not is_known]

    def gallery(self, modality: str) -> Gallery:
        """What is searched, of one modality."""
        if modality not in self._galleries:
            folder = self._place.folder
            found = FolderGallery(folder, modality) if folder else self._split(modality)
            self._galleries[modality] = found
        return self._galleries[modality]

    def _split(self, modality: str) -> SplitGallery:
        """The split of the dataset that the model was fitted on."""
        files = (self._place.params, *self._place.overlays)
        experiments = params.read(*files).experiments
        experiment = experiments.get(self._folder.parent.name)
        if not experiment:
            raise CrossmodalError(
                f"{', '.join(map(str, files))}: no experiment {self._folder.parent.name!r}, which "
                "would say what the model was fitted on; name the file that has it with "
                "--configfile, or a folder with --in"
            )
        feature = Path("features", experiment.dataset, f"{experiment.views[modality]}.h5")
        dataset = Path("data/prepared", experiment.dataset)
        return SplitGallery(dataset, self._place.split, modality, feature)

    def _index(self, query: str, target: str) -> Index:
        if (query, target) not in self._indexes:
            found = open_index(self._folder, self.model, self.gallery(target), query)
            self._indexes[query, target] = found
        return self._indexes[query, target]
