"""Arrays that stay in their files until rows of them are taken."""

import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Protocol

import h5py
import numpy as np

SLICE = 1 << 23  # bytes that are read at a time
LARGE, RATIO = 1 << 30, 100  # bytes, and how many times the stored ones, beyond which is refused


class Stored(Protocol):
    """An array in a file.

    Attributes:
        shape: Its shape, (n, ...).
        dtype: Its type.
    """

    shape: tuple[int, ...]
    dtype: np.dtype

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return rows (k, ...), in their order."""


class Mapped:
    """An array that lies in a file as in memory.

    Args:
        file: The file, or its path.
        dtype: Type.
        shape: Shape.
        offset: Of its first byte.
        fortran: Whether columns lie one behind the other.
    """

    def __init__(
        self,
        file: Path | IO[bytes],
        dtype: np.dtype,
        shape: tuple[int, ...],
        offset: int = 0,
        fortran: bool = False,
    ) -> None:
        self._file, self.dtype, self.shape = file, dtype, shape
        self._place: Any = {"offset": offset, "order": "F" if fortran else "C"}

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Map the file for these rows alone: its pages are given back afterwards."""
        return np.array(
            np.memmap(self._file, self.dtype, "r", shape=self.shape, **self._place)[rows]
        )


class Unpacked:
    """A compressed array, which is unpacked into a temporary file before rows are first taken.

    Args:
        dtype: Type.
        shape: Shape.
        write: Writes its bytes.
        fortran: Whether columns lie one behind the other.
    """

    def __init__(
        self,
        dtype: np.dtype,
        shape: tuple[int, ...],
        write: Callable[[IO[bytes]], None],
        fortran: bool = False,
    ) -> None:
        self.dtype, self.shape, self._write, self._fortran = dtype, shape, write, fortran

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return rows of the temporary file."""
        return self._mapped.take(rows)

    @cached_property
    def _mapped(self) -> Mapped:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - it is removed with its last reference
        self._write(file)
        file.flush()
        return Mapped(file, self.dtype, self.shape, fortran=self._fortran)


class Loaded:
    """An array of a file that can be read as a whole alone.

    Args:
        dtype: Type.
        shape: Shape.
        load: Returns it.
    """

    def __init__(
        self, dtype: np.dtype, shape: tuple[int, ...], load: Callable[[], np.ndarray]
    ) -> None:
        self.dtype, self.shape, self._load = dtype, shape, load

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return rows; the whole stays in memory."""
        return self._array[rows]

    @cached_property
    def _array(self) -> np.ndarray:
        return self._load()


class Sliced:
    """An array in an HDF5 file.

    Args:
        member: The array.
        transposed: Whether its first axis is the second one, as Matlab writes it.
    """

    def __init__(self, member: h5py.Dataset, transposed: bool) -> None:
        self._member, self._transposed = member, transposed and member.ndim > 1
        self.dtype = member.dtype
        self.shape = member.shape[::-1] if self._transposed else member.shape

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Read slices of consecutive rows, and keep those that are asked for."""
        taken = np.empty((len(rows), *self.shape[1:]), self.dtype)
        step = max(1, SLICE * self.shape[0] // max(1, self._member.nbytes))
        order = np.argsort(rows, kind="stable")
        ends = np.flatnonzero(np.diff(rows[order] // step)) + 1
        for group in np.split(order, ends) if len(rows) else []:
            first, last = rows[group[0]], rows[group[-1]]
            taken[group] = self._slice(slice(first, last + 1))[rows[group] - first]
        return taken

    def _slice(self, span: slice) -> np.ndarray:
        if self._transposed:
            return self._member[..., span].T
        texts = h5py.check_string_dtype(self.dtype)
        return self._member.asstr()[span] if texts else self._member[span]


class Unread:
    """An array that is not read.

    Args:
        shape: Shape.
        reason: Why, in words that follow 'it'.
    """

    dtype = np.dtype(object)

    def __init__(self, shape: tuple[int, ...], reason: str) -> None:
        self.shape, self._reason = shape, reason

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Say why.

        Raises:
            ValueError: Always.
        """
        raise ValueError(self._reason)


def refuse_inflation(size: int, stored: int) -> None:
    """Refuse an array that is compressed beyond all measure before it is unpacked.

    Args:
        size: Its bytes, according to headers.
        stored: Bytes that it takes in the file.

    Raises:
        ValueError: If it is one.
    """
    if size > max(LARGE, RATIO * stored):
        raise ValueError(
            f"its {stored:,} bytes claim to be {size:,} when unpacked; if they are, save them "
            "without compression"
        )
