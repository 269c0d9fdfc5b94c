"""Feature files: one HDF5 file per dataset and feature, complete or absent.

Layout: `ids` (n,) row ids; `items` (n,) the item each row belongs to; `features` (n, d), or for
sequences `values` (sum of lengths, ...) with `offsets` (n + 1,); `meta` (1,), a JSON object with
the options, the library versions and whatever the extractor learnt (a vocabulary, say).
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.files import replacing

# what h5py and JSON meet in damaged files
DAMAGE = (OSError, LookupError, TypeError, ValueError, AttributeError, RuntimeError, MemoryError)


@dataclass(frozen=True)
class Ragged:
    """Sequences of different lengths, end to end.

    Args:
        values: All steps of all sequences, (sum of lengths, ...).
        offsets: Sequence i is `values[offsets[i]:offsets[i + 1]]`; (n + 1,), int64.
    """

    values: np.ndarray
    offsets: np.ndarray

    @classmethod
    def concatenate(cls, sequences: Iterable[np.ndarray]) -> "Ragged":
        """Put sequences (length_i, ...) end to end."""
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


Rows = np.ndarray | Ragged


@dataclass(frozen=True)
class FeatureFile:
    """Rows of one feature of one dataset.

    Args:
        ids: Row ids: items' ids for item features, captions' ids for caption features.
        items: Id of the item that each row belongs to.
        features: (n, d) array or n sequences; an opened file's array is read when it is sliced.
        meta: Options, versions and what the extractor learnt.
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
    """Write a feature file at once, one chunk of rows in memory at a time.

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
    with replacing(path) as temporary, h5py.File(temporary, "w") as file:
        _write_strings(file, "ids", ids)
        _write_strings(file, "items", items)
        if ragged:
            lengths = np.concatenate([chunk.lengths for chunk in chunks])
            file["offsets"] = np.concatenate([[0], np.cumsum(lengths)])
            values = file.create_dataset("values", (lengths.sum(), *width), dtype)
            _fill(values, (chunk.values for chunk in chunks))
        else:
            _fill(file.create_dataset("features", (rows, *width), dtype), chunks)
        _write_strings(file, "meta", [json.dumps(meta, sort_keys=True)])


def _write_strings(file: h5py.File, name: str, strings: list[str]) -> None:
    """Strings of one length, padded: damaged ones of any length would make HDF5 hang."""
    encoded = np.array([string.encode() for string in strings])
    file[name] = encoded.astype(h5py.string_dtype("utf-8", encoded.itemsize))


def _kind(chunk: Rows) -> tuple[bool, tuple[int, ...], np.dtype]:
    values = chunk.values if isinstance(chunk, Ragged) else chunk
    return isinstance(chunk, Ragged), values.shape[1:], values.dtype


def _fill(target: h5py.Dataset, chunks: Iterable[np.ndarray]) -> None:
    """Write chunks below each other."""
    start = 0
    for chunk in chunks:
        target[start : start + len(chunk)] = chunk
        start += len(chunk)


def open_features(path: Path) -> FeatureFile:
    """Open a feature file whose `features` (n, d) are read when they are sliced.

    Raises:
        CrossmodalError: If the file is missing, damaged, or holds sequences.
    """
    with _damage(path):
        file = h5py.File(path)
        return FeatureFile(*_read_head(file), _part(file, "features"), _read_meta(file))


def read_features(path: Path, items: set[str] | None = None) -> FeatureFile:
    """Read a feature file, or of it only the rows of some items.

    Raises:
        CrossmodalError: If the file is missing, damaged, or its parts do not fit together.
    """
    with _damage(path), h5py.File(path) as file:
        ids, owners = _read_head(file)
        rows = np.array([i for i, o in enumerate(owners) if items is None or o in items], int)
        features = _read_rows(file, rows, len(ids))
        meta = _read_meta(file)
    return FeatureFile([ids[r] for r in rows], [owners[r] for r in rows], features, meta)


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    try:
        yield
    except DAMAGE as error:
        raise CrossmodalError(
            f"{path}: not a whole feature file ({error}); delete it and run again"
        ) from error


def _part(file: h5py.File, name: str) -> h5py.Dataset:
    """A dataset of the file, which holds as much as it says."""
    found = file[name]
    if found.nbytes > Path(file.filename).stat().st_size:  # or memory for all of it would be taken
        raise ValueError(f"{name} say that they have {found.shape} entries")
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
        return Ragged(values[()], offsets).take(rows)
    features = _part(file, "features")
    if len(features) != total:
        raise ValueError(f"{len(features)} feature rows for {total} ids")
    if len(rows) == 0:
        return features[:0]
    span = features[rows[0] : rows[-1] + 1]
    return span if len(span) == len(rows) else span[rows - rows[0]]
