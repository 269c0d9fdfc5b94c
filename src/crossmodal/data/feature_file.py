"""Feature files: one HDF5 file per dataset and feature, complete or absent.

`crossmodal.data.feature_reader` reads them.

Layout: `ids` (n,) row ids; `items` (n,) the item each row belongs to; `features` (n, d), or for
sequences `values` (sum of lengths, ...) with `offsets` (n + 1,); `meta` (1,), a JSON object with
the options, its provenance and whatever the extractor learnt, such as a vocabulary.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.io import hdf5
from crossmodal.io.files import JsonObject, replacing

SLICE = 1 << 21  # bytes that are read or checked at a time


@dataclass(frozen=True)
class Ragged:
    """Sequences of different lengths, concatenated.

    Args:
        values: All steps of all sequences, (sum of lengths, ...).
        offsets: Sequence i is `values[offsets[i]:offsets[i + 1]]`; (n + 1,), int64.
    """

    values: np.ndarray
    offsets: np.ndarray

    @classmethod
    def concatenate(cls, sequences: Iterable[np.ndarray]) -> "Ragged":
        """Concatenate sequences (length_i, ...)."""
        sequences = list(sequences)
        lengths = np.array([len(s) for s in sequences], np.int64)
        return cls(np.concatenate(sequences), np.concatenate([[0], np.cumsum(lengths)]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Return the length of each sequence, (n,)."""
        return np.diff(self.offsets)

    def __getitem__(self, row: int) -> np.ndarray:
        """Return sequence `row`, (length, ...)."""
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def take(self, rows: np.ndarray) -> "Ragged":
        """Return the sequences `rows`, in that order."""
        offsets = np.concatenate([[0], np.cumsum(self.lengths[rows])])
        # an index of every step would be larger than the steps
        return Ragged(np.concatenate([self.values[:0], *(self[row] for row in rows)]), offsets)


Rows = np.ndarray | Ragged


@dataclass(frozen=True)
class FeatureFile:
    """Rows of one feature of one dataset.

    Args:
        ids: Row ids: items' ids for item features, captions' ids for caption features.
        items: Id of the item that each row belongs to.
        features: (n, d) array or n sequences; an opened file's array is read when it is sliced.
        meta: `extractor`, plug-in and options; `made`, see `provenance`; `sources`, the same
            of each feature that it is computed from; and what the extractor learnt.
    """

    ids: list[str]
    items: list[str]
    features: Rows
    meta: JsonObject

    def vectors(self) -> np.ndarray:
        """Return the features (n, d), of a file without sequences.

        Raises:
            CrossmodalError: If the rows are sequences.
        """
        if isinstance(self.features, Ragged):
            raise CrossmodalError(f"row {self.ids[0]!r} is a sequence, not a vector")
        return self.features

    def take(self, rows: np.ndarray) -> "FeatureFile":
        """Return the given rows, in that order."""
        features = self.features
        taken = features.take(rows) if isinstance(features, Ragged) else features[rows]
        return FeatureFile(
            [self.ids[r] for r in rows], [self.items[r] for r in rows], taken, self.meta
        )


def write_features(
    path: Path, ids: list[str], items: list[str], chunks: Iterable[Rows], meta: JsonObject
) -> None:
    """Write a feature file atomically, one chunk of rows in memory at a time.

    Args:
        path: The file.
        ids: Id of each row.
        items: Item of each row.
        chunks: The rows; iterated more than once, so that it need not hold all chunks at once.
        meta: See `FeatureFile`.

    Raises:
        CrossmodalError: If there are no rows, not as many as ids, or not all of one kind.
    """
    rows = sum(len(chunk) for chunk in chunks)
    if not rows or not rows == len(ids) == len(items):
        raise CrossmodalError(f"{path}: {rows} feature rows for {len(ids)} ids; nothing to write")
    kinds = {_kind(chunk) for chunk in chunks}
    if len(kinds) > 1:
        raise CrossmodalError(f"{path}: chunks of different widths or types: {kinds}")
    ((ragged, width, dtype),) = kinds
    with replacing(path) as temporary, hdf5.create(temporary) as file:
        hdf5.store_strings(file, "ids", ids)
        hdf5.store_strings(file, "items", items)
        if ragged:
            lengths = np.concatenate([c.lengths for c in chunks if isinstance(c, Ragged)])
            hdf5.store(file, "offsets", np.concatenate([[0], np.cumsum(lengths)]))
            values = hdf5.add(file, "values", (int(lengths.sum()), *width), dtype)
        else:
            values = hdf5.add(file, "features", (rows, *width), dtype)
        _fill(values, path, ids, chunks)
        hdf5.store_strings(file, "meta", [json.dumps(meta, sort_keys=True)])


def _kind(chunk: Rows) -> tuple[bool, tuple[int, ...], np.dtype]:
    values = _values(chunk)
    return isinstance(chunk, Ragged), values.shape[1:], values.dtype


def _fill(target: h5py.Dataset, path: Path, ids: list[str], chunks: Iterable[Rows]) -> None:
    """Write the rows of all chunks below each other."""
    start = first = 0
    for chunk in chunks:
        values, row = _values(chunk), not_finite(chunk)
        if row is not None:
            raise CrossmodalError(
                f"{path}: row {ids[first + row]!r} has values that are NaN or infinite; correct "
                "what it is computed from, and run again"
            )
        target[start : start + len(values)] = values
        start += len(values)
        first += len(chunk)


def _values(rows: Rows) -> np.ndarray:
    return rows.values if isinstance(rows, Ragged) else rows


def not_finite(rows: Rows) -> int | None:
    """Return the first row with a value that is NaN or infinite."""
    values = _values(rows)
    if values.dtype.kind != "f":
        return None
    step = max(1, SLICE // max(1, values[:1].nbytes))
    for start in range(0, len(values), step):
        finite = np.isfinite(values[start : start + step])
        if not finite.all():
            first = start + int(np.argmin(finite.reshape(len(finite), -1).all(axis=1)))
            ends = rows.offsets[1:] if isinstance(rows, Ragged) else np.arange(1, len(rows) + 1)
            return int(np.searchsorted(ends, first, side="right"))
    return None
