"""Feature files: one HDF5 file per dataset and feature, complete or absent.

Layout: `ids` (n,) row ids; `items` (n,) the item each row belongs to; `features` (n, d), or for
sequences `values` (sum of lengths, ...) with `offsets` (n + 1,); `meta` (1,), a JSON object with
the options, its provenance and whatever the extractor learnt, such as a vocabulary.
"""

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.io import hdf5
from crossmodal.io.files import replacing
from crossmodal.resources.sizes import IN_MEMORY

CHECKED = 1 << 22  # numbers that are looked at together
# what h5py and JSON raise on corrupt files
DAMAGE = (OSError, LookupError, TypeError, ValueError, AttributeError, RuntimeError, MemoryError)


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
        """Length of each sequence, (n,)."""
        return np.diff(self.offsets)

    def __getitem__(self, row: int) -> np.ndarray:
        """Sequence `row`, (length, ...)."""
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def take(self, rows: np.ndarray) -> "Ragged":
        """The sequences `rows`, in that order."""
        offsets = np.concatenate([[0], np.cumsum(self.lengths[rows])])
        # an index of every step would be larger than the steps
        return Ragged(np.concatenate([self.values[:0], *(self[row] for row in rows)]), offsets)


@dataclass(frozen=True)
class FileRagged(Ragged):
    """Sequences that stay in a feature file, and are read one by one.

    Args:
        values: All steps of all sequences of the file, (sum of lengths, ...).
        offsets: Of all sequences of the file.
        rows: Which of them these are, (n,).
    """

    values: h5py.Dataset
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def lengths(self) -> np.ndarray:
        """Length of each sequence, (n,)."""
        return np.diff(self.offsets)[self.rows]

    def __getitem__(self, row: int) -> np.ndarray:
        """Sequence `row`, (length, ...)."""
        with _damage(Path(self.values.file.filename)):
            start, stop = self.offsets[self.rows[row] : self.rows[row] + 2]
            return self.values[start:stop]

    def take(self, rows: np.ndarray) -> "FileRagged":
        """The sequences `rows`, in that order."""
        return FileRagged(self.values, self.offsets, self.rows[rows])


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
    meta: dict[str, Any]

    def take(self, rows: np.ndarray) -> "FeatureFile":
        """The given rows, in that order."""
        features = self.features
        taken = features.take(rows) if isinstance(features, Ragged) else features[rows]
        return FeatureFile(
            [self.ids[r] for r in rows], [self.items[r] for r in rows], taken, self.meta
        )


def write_features(
    path: Path, ids: list[str], items: list[str], chunks: Iterable[Rows], meta: dict[str, Any]
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
            lengths = np.concatenate([chunk.lengths for chunk in chunks])
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
        values, row = _values(chunk), _not_finite(chunk)
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


def _not_finite(rows: Rows) -> int | None:
    """The first row with a value that is NaN or infinite."""
    values = _values(rows)
    step = max(1, CHECKED // max(1, math.prod(values.shape[1:])))
    parts = (values[start : start + step] for start in range(0, len(values), step))
    if values.dtype.kind != "f" or all(np.isfinite(part).all() for part in parts):
        return None
    first = int(np.argmin(np.isfinite(values.reshape(len(values), -1)).all(axis=1)))
    ends = rows.offsets[1:] if isinstance(rows, Ragged) else np.arange(1, len(rows) + 1)
    return int(np.searchsorted(ends, first, side="right"))


def open_features(path: Path) -> FeatureFile:
    """Open a feature file whose `features` (n, d) are read when they are sliced.

    Raises:
        CrossmodalError: If the file is missing, corrupt, or holds sequences.
    """
    with _damage(path):
        file = h5py.File(path)
        ids, items = _read_head(file)
        return FeatureFile(
            ids, items, _Opened(path, ids, _part(file, "features")), _read_meta(file)
        )


@dataclass(frozen=True)
class _Opened:
    """Rows in a file, which are checked when they are sliced."""

    path: Path
    ids: list[str]
    rows: h5py.Dataset

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, span: slice) -> np.ndarray:
        """Consecutive rows (n, d)."""
        with _damage(self.path):
            return _finite(self.rows[span], self.ids[span])


def read_features(path: Path, items: set[str] | None = None) -> FeatureFile:
    """Read a feature file, or of it only the rows of some items.

    Image files of more than `IN_MEMORY` bytes together stay where they are, until they are used.

    Raises:
        CrossmodalError: If the file is missing, corrupt, or its parts do not fit together.
    """
    with _damage(path):
        file = h5py.File(path)  # closed with the last sequence that stays in it
        ids, owners = _read_head(file)
        rows = np.array([i for i, o in enumerate(owners) if items is None or o in items], int)
        taken = [ids[r] for r in rows]
        features = _finite(_read_rows(file, rows, len(ids)), taken)
        meta = _read_meta(file)
    return FeatureFile(taken, [owners[r] for r in rows], features, meta)


def _finite(rows: Rows, ids: list[str]) -> Rows:
    if (row := _not_finite(rows)) is not None:
        raise ValueError(f"row {ids[row]!r} has values that are NaN or infinite")
    return rows


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    try:
        yield
    except DAMAGE as error:
        raise CrossmodalError(
            f"{path}: corrupt or truncated feature file ({error}); delete it and run again"
        ) from error


def _part(file: h5py.File, name: str) -> h5py.Dataset:
    """A dataset of the file, not larger than the file."""
    found = file[name]
    if (
        found.nbytes > Path(file.filename).stat().st_size
    ):  # or memory for all of it would be allocated
        raise ValueError(f"{name} have {found.shape} entries according to the header")
    return found


def _read_head(file: h5py.File) -> tuple[list[str], list[str]]:
    """Ids of the rows and of their items."""
    ids, items = _read_strings(file, "ids"), _read_strings(file, "items")
    if len(ids) != len(items):
        raise ValueError(f"{len(items)} items for {len(ids)} ids")
    return ids, items


def _read_meta(file: h5py.File) -> dict[str, Any]:
    (meta,) = _read_strings(file, "meta")
    return json.loads(meta)


def _read_strings(file: h5py.File, name: str) -> list[str]:
    found = _part(file, name)
    if found.dtype.kind != "S":
        raise ValueError(f"{name} are no strings of one length")
    return found.asstr()[()].tolist()


def _read_rows(file: h5py.File, rows: np.ndarray, total: int) -> Rows:
    """Rows in increasing order; contiguous ranges are read without the others."""
    if "offsets" in file:
        offsets, values = _part(file, "offsets")[()], _part(file, "values")
        ends = (offsets[0], offsets[-1])
        if len(offsets) != total + 1 or ends != (0, len(values)) or (np.diff(offsets) < 0).any():
            raise ValueError("offsets do not fit values")
        lengths = np.diff(offsets)[rows]
        if values.dtype == np.uint8 and lengths.sum() > IN_MEMORY:
            return FileRagged(values, offsets, rows)
        spans = [(offsets[start], offsets[stop]) for start, stop in _runs(rows)]
        return Ragged(_read_spans(values, spans), np.concatenate([[0], np.cumsum(lengths)]))
    features = _part(file, "features")
    if len(features) != total:
        raise ValueError(f"{len(features)} feature rows for {total} ids")
    return _read_spans(features, _runs(rows))


def _runs(rows: np.ndarray) -> list[tuple[int, int]]:
    """Increasing numbers as ranges start:stop of consecutive ones."""
    ends = np.flatnonzero(np.diff(rows) != 1)
    return [*zip(rows[[0, *(ends + 1)]], rows[[*ends, -1]] + 1, strict=True)] if len(rows) else []


def _read_spans(values: h5py.Dataset, spans: list[tuple[int, int]]) -> np.ndarray:
    """The ranges start:stop of a dataset, one below the other."""
    found = np.empty((sum(stop - start for start, stop in spans), *values.shape[1:]), values.dtype)
    place = 0
    for start, stop in spans:
        if stop > start:
            values.read_direct(found, np.s_[start:stop], np.s_[place : place + stop - start])
        place += stop - start
    return found
