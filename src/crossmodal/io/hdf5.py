"""HDF5 files that notice a flipped bit: values, headers and attributes have checksums."""

import io
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np
from typing_extensions import Buffer

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import readable

PIECE = 1 << 20  # bytes that share a checksum, about
VERSION = ("v110", "v110")  # the oldest format in which headers have checksums
# what h5py and JSON raise on corrupt files
DAMAGE = (OSError, LookupError, TypeError, ValueError, AttributeError, RuntimeError, MemoryError)


@contextmanager
def naming_damage(path: Path, kind: str) -> Iterator[None]:
    """Name a file whose reading fails in the block.

    Args:
        path: The file.
        kind: A noun for it in the message.

    Raises:
        CrossmodalError: If h5py, JSON or a check of the content raises one of `DAMAGE`.
    """
    try:
        yield
    except DAMAGE as error:
        raise CrossmodalError(
            f"{path}: corrupt or truncated {kind} ({error}); delete it and run again"
        ) from error


class _Stream(io.FileIO):
    """A file in which writing never fails: HDF5 crashes where it cannot write what it kept back.

    Attributes:
        error: Why something could not be written, if so.
    """

    error: OSError | None = None

    def write(self, content: Buffer, /) -> int:
        """Write, or note why that is impossible, and forget the content."""
        left = memoryview(content)
        while left and not self.error:
            try:
                left = left[super().write(left) :]
            except OSError as error:
                self.error = error
        return memoryview(content).nbytes


def read(path: Path) -> h5py.File:
    """Open a file for reading, without a lock: it was written once, and some systems have none.

    Raises:
        CrossmodalError: If it is not there, or this user may not read it.
    """
    return h5py.File(readable(path), locking=False)


@contextmanager
def create(path: Path) -> Iterator[h5py.File]:
    """Yield a new file.

    Raises:
        OSError: At the end, if not all could be written; it names the file.
    """
    with _Stream(path, "w+") as stream:
        try:
            with h5py.File(stream, "w", libver=VERSION) as file:
                yield file
        finally:
            if stream.error:
                raise OSError(stream.error.errno, stream.error.strerror, str(path))


def add(group: h5py.Group, name: str, shape: tuple[int, ...], dtype: np.dtype) -> h5py.Dataset:
    """Return an array of zeros, to be filled."""
    if 0 in shape:
        return group.create_dataset(name, shape, dtype)
    row = dtype.itemsize * math.prod(shape[1:])
    rows = min(shape[0], max(1, PIECE // row))
    return group.create_dataset(name, shape, dtype, chunks=(rows, *shape[1:]), fletcher32=True)


def store(group: h5py.Group, name: str, array: np.ndarray) -> None:
    """Store an array (n, ...)."""
    add(group, name, array.shape, array.dtype)[...] = array


def part(group: h5py.Group, name: str) -> h5py.Dataset:
    """Return an array, which lies in the file itself and is not larger than the file.

    Raises:
        KeyError: If there is none.
        ValueError: If the name, or a group on the way, is a link, as to another file; if the values
            are in other files; or if memory would be allocated for more than the file has.
    """
    group_name, _, inner = name.partition("/")
    link = group.get(group_name, getlink=True)
    if link is None:
        raise KeyError(f"{group_name} is missing")
    if not isinstance(link, h5py.HardLink):
        raise ValueError(f"{group_name} is a link")
    member = group[group_name]
    if inner:
        return part(member, inner)
    if not isinstance(member, h5py.Dataset) or member.external or member.is_virtual:
        raise ValueError(f"{group_name} is no array in the file itself")
    if member.nbytes > os.path.getsize(group.file.filename):
        raise ValueError(f"{group_name} have {member.shape} entries according to the header")
    return member


def describe(group: h5py.Group, name: str, text: str) -> None:
    """Store a text as an attribute of one length: others are where nothing has a checksum."""
    group.attrs[name] = np.bytes_(text.encode())


def store_strings(group: h5py.Group, name: str, strings: list[str]) -> None:
    """Return strings padded to one length: corrupt ones of variable length would make HDF5 hang."""
    encoded = np.array([string.encode() for string in strings])
    store(group, name, encoded.astype(h5py.string_dtype("utf-8", encoded.itemsize)))
