"""Views and labels of one split, from which methods learn."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from crossmodal.data.changes import Changes
from crossmodal.data.feature_file import Ragged, Rows
from crossmodal.data.feature_reader import read_features
from crossmodal.data.prepared import Item, Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import JsonObject

Relevance = Literal["category", "labels"]


@dataclass(frozen=True)
class View:
    """One modality of a split.

    Args:
        features: (rows, d) array or sequences; rows of one item are neighbours.
        items: Index of the item that each row belongs to, (rows,), increasing.
        ids: Row ids.
        meta: What the extractor stated, for example a vocabulary.
    """

    features: Rows
    items: np.ndarray
    ids: list[str]
    meta: JsonObject

    def vectors(self) -> np.ndarray:
        """Return the features (rows, d), for methods that take one vector per row.

        Raises:
            CrossmodalError: If the rows are sequences.
        """
        if isinstance(self.features, Ragged):
            raise CrossmodalError(
                f"row {self.ids[0]!r} is a sequence of {len(self.features[0])} steps, but the "
                "method needs one vector per row; choose another feature for this view"
            )
        return self.features

    def sequences(self) -> Ragged:
        """Return the features, for methods that take a sequence per row.

        Raises:
            CrossmodalError: If the rows are vectors.
        """
        if not isinstance(self.features, Ragged):
            raise CrossmodalError(
                f"rows of shape {self.features.shape[1:]}, but the method needs a sequence per "
                "row; choose another feature for this view"
            )
        return self.features

    def is_constant(self) -> bool:
        """Return whether there are several rows, which are all equal."""
        rows = range(1, len(self.features))
        return len(rows) > 0 and all(
            np.array_equal(self.features[0], self.features[row]) for row in rows
        )

    def taken(self, rows: np.ndarray) -> np.ndarray:
        """Return the given rows as float32, (n, d); without a copy where they are all.

        Raises:
            CrossmodalError: If the rows are sequences.
        """
        features = self.vectors()
        every = len(rows) == len(features) and (rows == np.arange(len(rows))).all()
        return (features if every else features[rows]).astype(np.float32, copy=False)


@dataclass(frozen=True)
class Split:
    """Items of one split.

    Args:
        items: Item ids, (n,).
        labels: Which of the dataset's labels each item has, (n, C) bool; C is 0 without labels.
        views: One view per modality; each item has at least one row in each.
        label_names: Name of each label, (C,); empty if nothing needs them.
        source: Where the items are from, for messages.
    """

    items: list[str]
    labels: np.ndarray
    views: dict[str, View]
    label_names: tuple[str, ...] = ()
    source: str = "the training split"

    def two_views(self) -> dict[str, View]:
        """Return the views, for methods that learn from exactly two.

        Raises:
            CrossmodalError: If there are more.
        """
        if len(self.views) != 2:
            raise CrossmodalError(f"the method needs two views, but has {', '.join(self.views)}")
        return self.views

    def pairs(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return all pairings of the views' rows that belong together, one line per caption.

        Returns:
            Index of the item of each line, (m,), and the row of each modality, (m,) each. Views
            with one row per item repeat it for each of the item's captions.

        Raises:
            CrossmodalError: If two views have several rows per item but not the same rows.
        """
        longest = max(self.views.values(), key=lambda view: len(view.items))
        rows = {}
        for modality, view in self.views.items():
            if len(view.items) == len(self.items):
                rows[modality] = longest.items
            elif view.ids == longest.ids:
                rows[modality] = np.arange(len(longest.ids))
            else:
                raise CrossmodalError(
                    f"view {modality!r}: its rows are other captions than those of another view"
                )
        return longest.items, rows


def load_split(
    dataset: Prepared,
    views: dict[str, Path],
    split: str,
    relevance: Relevance,
    changes: Changes | None = None,
) -> Split:
    """Return the views and labels of one split; rows of other splits are left out.

    Args:
        dataset: The prepared dataset.
        views: Feature file of each modality.
        split: 'train', 'validation' or 'test'.
        relevance: 'category': the item's category is its label; 'labels': all its labels are.
        changes: Changes of the items' categories.

    Raises:
        CrossmodalError: If the split is empty, a category to be kept does not occur in it, or an
            item lacks a row in some view.
    """
    items = dataset.split(split)
    if not items:
        raise CrossmodalError(f"{dataset.folder}: split {split!r} has no items")
    names = label_names(dataset, relevance, changes.classes if changes else ())
    if changes:
        items = changes.apply(items, split)
    labels = label_matrix(items, names, relevance)
    index = {item.id: row for row, item in enumerate(items)}
    loaded = {modality: _load_view(path, index) for modality, path in views.items()}
    return Split(list(index), labels, loaded, tuple(names), dataset.name)


def label_names(
    dataset: Prepared, relevance: Relevance, classes: Collection[str] = ()
) -> list[str]:
    """Return all labels that define relevance, sorted; of some categories' items, or of all."""
    items = [item for item in dataset.items if not classes or item.category in classes]
    return sorted({name for item in items for name in _labels(item, relevance)})


def label_matrix(items: list[Item], names: Sequence[str], relevance: Relevance) -> np.ndarray:
    """Return which labels items have, (n, C) bool.

    Args:
        items: The items, (n,).
        names: All of their labels that make relevance, (C,).
        relevance: See `load_split`.
    """
    columns = {name: column for column, name in enumerate(names)}
    labels = np.zeros((len(items), len(names)), bool)
    for row, item in enumerate(items):
        labels[row, [columns[name] for name in _labels(item, relevance)]] = True
    return labels


def _labels(item: Item, relevance: Relevance) -> tuple[str, ...]:
    if relevance == "labels":
        return item.labels
    return (item.category,) if item.category else ()


def _load_view(path: Path, index: dict[str, int]) -> View:
    content = read_features(path, index)
    missing = index.keys() - set(content.items)
    if missing:
        raise CrossmodalError(f"{path}: item {min(missing)!r} has no row; extract it again")
    owners = np.array([index[item] for item in content.items], int)
    return View(content.features, owners, content.ids, content.meta)
