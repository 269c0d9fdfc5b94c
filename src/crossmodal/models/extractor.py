"""A feature as it was extracted from a dataset, for other items."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from crossmodal.config import plugins
from crossmodal.data.feature import Feature
from crossmodal.data.feature_file import FeatureFile, Ragged, Rows
from crossmodal.data.prepared import Described, Items, Prepared, item_of
from crossmodal.data.split import View
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import JsonObject
from crossmodal.io.progress import track
from crossmodal.io.relative_names import inside


class Extractor:
    """A feature with what it learnt, and the features that it is computed from.

    Args:
        meta: Of a feature file.
        weights: Folder of networks' weights.
        dataset: What rows are wanted of, where it is a prepared dataset with published features.

    Raises:
        CrossmodalError: If weights are missing or others than those of the feature file, or the
            feature cannot be extracted from new items.
    """

    def __init__(self, meta: JsonObject, weights: Path, dataset: Prepared | None = None) -> None:
        self.meta = meta
        try:
            sources = meta["sources"].items()
            self.sources = {name: Extractor(inner, weights, dataset) for name, inner in sources}
            self._restore(weights, dataset)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise CrossmodalError(
                f"the feature does not fit this version of crossmodal ({error!r}); extract it again"
            ) from error

    def _restore(self, weights: Path, dataset: Prepared | None) -> None:
        """Make the feature with its options, weights, and what it learnt."""
        made_by = self.meta["extractor"]
        self.feature: Feature = plugins.make(
            "features", made_by["plugin"], made_by["options"], "options"
        )
        self.feature.language = made_by.get("language", "en")
        self.feature.setup(self._find(weights))
        if dataset and self.feature.published:
            self.feature.fit(dataset, {})
        else:
            self.feature.restore(self.meta)

    def _find(self, weights: Path) -> Path | None:
        """Return the weights file that the feature names, if it names one."""
        if not self.feature.weights:
            return None
        path = inside(weights, self.feature.weights, "the feature")
        if not path.is_file():
            raise CrossmodalError(
                f"{path}: not found; put the weights there (`crossmodal weights {path}` fetches "
                "official ones), or name their folder: load(..., weights=...)"
            )
        return path

    def rows_of(self, items: Items) -> dict[str, list[Described]]:
        """Return the rows of the feature by the id of their item."""
        rows = defaultdict(list)
        for row in self.feature.rows(items):
            rows[item_of(row)].append(row)
        return dict(rows)

    def words(self, text: str) -> dict[str, bool] | None:
        """Return what `Feature.words` says, of the feature or of one that it is computed from."""
        extractors = self.sources.values()
        answers = (self.feature.words(text), *(source.words(text) for source in extractors))
        return next((words for words in answers if words is not None), None)

    def view(
        self,
        items: Items,
        wanted: Mapping[str, Sequence[Described]] | None = None,
        label: str = "",
    ) -> View:
        """Extract the features of some items in chunks.

        Args:
            items: What the rows belong to.
            wanted: Rows of each item, see `rows_of`; by default all.
            label: Shows progress under this name; by default none.

        Raises:
            CrossmodalError: If an item cannot be read or is empty.
        """
        wanted = self.rows_of(items) if wanted is None else wanted
        rows, size = [row for group in wanted.values() for row in group], self.feature.chunk
        owners = np.repeat(np.arange(len(wanted)), [len(group) for group in wanted.values()])
        starts: Iterable[int] = range(0, len(rows), size)
        if label:
            starts = track(starts, -(-len(rows) // size), label)
        chunks = [self._extract(items, rows[i : i + size]) for i in starts]
        return View(_joined(chunks), owners, [row.id for row in rows], self.meta)

    def _extract(self, items: Items, rows: Sequence[Described]) -> np.ndarray | list[np.ndarray]:
        ids = [row.id for row in rows]
        sources = {
            name: FeatureFile(ids, ids, _joined([source._extract(items, rows)]), source.meta)
            for name, source in self.sources.items()
        }
        return self.feature.extract(items, rows, sources)


def _joined(chunks: Sequence[np.ndarray | list[np.ndarray]]) -> Rows:
    """Return the rows of all chunks, which are vectors or sequences."""
    if isinstance(chunks[0], list):
        return Ragged.concatenate([row for chunk in chunks for row in chunk])
    return np.concatenate(chunks)
