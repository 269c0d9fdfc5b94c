"""Reads feature files, in slices: of the rows that are asked for, one copy is made."""

import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import h5py
import numpy as np

from crossmodal.data.feature_file import SLICE, FeatureFile, Ragged, Rows, not_finite
from crossmodal.io import hdf5
from crossmodal.io.files import JsonObject

IN_MEMORY = 2**30  # bytes; of larger image files those of a batch are read


def open_features(path: Path) -> FeatureFile:
    """Open a feature file whose `features` (n, d) are read when they are sliced.

    Raises:
        CrossmodalError: If the file is missing, corrupt, or holds sequences.
    """
    with hdf5.naming_damage(path, "feature file"):
        file = hdf5.read(path)
        ids, items = _read_head(file)
        rows = _Opened(path, ids, hdf5.part(file, "features"))
        return FeatureFile(ids, items, cast(np.ndarray, rows), _read_meta(file))


@dataclass(frozen=True)
class _Opened:
    """Rows in a file, which are checked when they are sliced."""

    path: Path
    ids: list[str]
    rows: h5py.Dataset

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, span: slice) -> np.ndarray:
        """Return consecutive rows (n, d)."""
        with hdf5.naming_damage(self.path, "feature file"):
            rows = self.rows[span]
            _check_finite(rows, self.ids[span])
            return rows


class _FileBytes:
    """The bytes of all image files in a feature file, which each process opens for itself."""

    dtype = np.dtype(np.uint8)

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opened: dict[int, h5py.Dataset] = {}

    def __getitem__(self, span: slice) -> np.ndarray:
        process = os.getpid()
        with hdf5.naming_damage(self.path, "feature file"):
            if process not in self._opened:
                self._opened = {process: hdf5.part(hdf5.read(self.path), "values")}
            return self._opened[process][span]


@dataclass(frozen=True)
class FileRagged(Ragged):
    """Image files that stay in a feature file, and are read one by one.

    Args:
        values: The bytes of all files in it, read when they are sliced.
        offsets: Of all files in it.
        rows: Which of them these are, (n,).
    """

    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def lengths(self) -> np.ndarray:
        """Return bytes of each file, (n,)."""
        return np.diff(self.offsets)[self.rows]

    def __getitem__(self, row: int) -> np.ndarray:
        """Return file `row`, (length,)."""
        return self.values[self.offsets[self.rows[row]] : self.offsets[self.rows[row] + 1]]

    def take(self, rows: np.ndarray) -> "FileRagged":
        """Return the files `rows`, in that order."""
        return FileRagged(self.values, self.offsets, self.rows[rows])


def read_features(path: Path, items: Collection[str] | None = None) -> FeatureFile:
    """Read a feature file, or of it only the rows of some items.

    Image files of more than `IN_MEMORY` bytes together stay where they are, until they are used.

    Args:
        path: The file.
        items: Ids of the items, in the order in which their rows are returned; None: all rows, as
            they are in the file.

    Raises:
        CrossmodalError: If the file is missing, corrupt, or its parts do not fit together.
    """
    with hdf5.naming_damage(path, "feature file"), hdf5.read(path) as file:
        ids, owners = _read_head(file)
        rows = _wanted(owners, items)
        taken = [ids[r] for r in rows]
        features = _read_rows(file, rows, len(ids))
        _check_finite(features, taken)
        meta = _read_meta(file)
    return FeatureFile(taken, [owners[r] for r in rows], features, meta)


def _wanted(owners: list[str], items: Collection[str] | None) -> np.ndarray:
    """Return the rows of some items, in their order."""
    if items is None:
        return np.arange(len(owners))
    position = {item: place for place, item in enumerate(items)}
    rows = np.array([row for row, owner in enumerate(owners) if owner in position], int)
    return rows[np.argsort([position[owners[row]] for row in rows], kind="stable")]


def _check_finite(rows: Rows, ids: list[str]) -> None:
    if (row := not_finite(rows)) is not None:
        raise ValueError(f"row {ids[row]!r} has values that are NaN or infinite")


def _read_head(file: h5py.File) -> tuple[list[str], list[str]]:
    """Return ids of the rows and of their items."""
    ids, items = _read_strings(file, "ids"), _read_strings(file, "items")
    if len(ids) != len(items):
        raise ValueError(f"{len(items)} items for {len(ids)} ids")
    return ids, items


def _read_meta(file: h5py.File) -> JsonObject:
    (meta,) = _read_strings(file, "meta")
    return json.loads(meta)


def _read_strings(file: h5py.File, name: str) -> list[str]:
    strings = hdf5.part(file, name)
    if strings.dtype.kind != "S":
        raise ValueError(f"{name} are no strings of one length")
    return strings.asstr()[()].tolist()


def _read_rows(file: h5py.File, rows: np.ndarray, total: int) -> Rows:
    """Return the given rows, in that order."""
    if "offsets" not in file:
        features = hdf5.part(file, "features")
        if len(features) != total:
            raise ValueError(f"{len(features)} feature rows for {total} ids")
        return _gather(features, np.arange(total + 1), rows).values
    offsets, values = hdf5.part(file, "offsets")[()], hdf5.part(file, "values")
    ends = (offsets[0], offsets[-1])
    if len(offsets) != total + 1 or ends != (0, len(values)) or (np.diff(offsets) < 0).any():
        raise ValueError("offsets do not fit values")
    if values.dtype == np.uint8 and np.diff(offsets)[rows].sum() > IN_MEMORY:
        content = _FileBytes(Path(file.filename))
        return FileRagged(cast(np.ndarray, content), offsets, rows)
    return _gather(values, offsets, rows)


def _gather(values: h5py.Dataset, offsets: np.ndarray, rows: np.ndarray) -> Ragged:
    """Return sequences `values[offsets[row]:offsets[row + 1]]`, read in the order of the file."""
    ends = np.concatenate([[0], np.cumsum(np.diff(offsets)[rows])])
    sequences = Ragged(np.empty((ends[-1], *values.shape[1:]), values.dtype), ends)
    places = np.argsort(rows)
    step = max(1, SLICE * len(values) // max(1, values.nbytes))
    ends_of_slices = np.flatnonzero(np.diff(offsets[rows[places]] // step)) + 1
    for group in np.split(places, ends_of_slices) if len(rows) else []:
        first, last = rows[group[0]], rows[group[-1]]
        piece = values[offsets[first] : offsets[last + 1]]
        starts = offsets[rows[group]] - offsets[first]
        for place, start in zip(group, starts, strict=True):
            sequences[place][:] = piece[start : start + ends[place + 1] - ends[place]]
    return sequences
