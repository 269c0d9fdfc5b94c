"""Rows of matrices of a user, and the items or captions that they belong to."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crossmodal.data.prepared import Caption, Described
from crossmodal.errors import CrossmodalError, listed
from crossmodal.io.arrays import LISTS, open_matrix, read_ids, take_rows
from crossmodal.io.stored_arrays import Stored

ORDER = "order"  # in place of ids


@dataclass(frozen=True)
class Part:
    """The matrix of all items, or of a split.

    Args:
        file: Its file.
        name: Its name in the file, or empty.
        ids: File of the rows' ids, array of them in the matrix's file, or `ORDER`.
    """

    file: Path
    name: str
    ids: str

    def files(self) -> Iterator[str]:
        """Yield the files."""
        yield str(self.file)
        if self._in_list:
            yield self.ids

    def open(self) -> Stored:
        """Open the matrix."""
        return open_matrix(self.file, self.name, "" if self._in_list else self.ids)

    def read_ids(self) -> list[str]:
        """Return the id of each row."""
        return read_ids(Path(self.ids)) if self._in_list else read_ids(self.file, self.ids)

    def places(
        self, count: int, wanted: Sequence[Described], whose: str, subset: bool
    ) -> np.ndarray:
        """Return the row number of each item or caption, (n,).

        Args:
            count: Number of rows.
            wanted: The items or captions, in the dataset's order.
            whose: The dataset, and its split, for messages.
            subset: Whether further rows are passed over.

        Raises:
            CrossmodalError: If there are others, or an id is unknown, repeated or missing.
        """
        if self.ids == ORDER:
            if count != len(wanted):
                raise CrossmodalError(
                    f"{self.file}: has {count:,} rows, but there are {len(wanted):,} of {whose}; "
                    "rows in the dataset's order must be as many, or name their `ids`"
                )
            return np.arange(count)
        ids = self.read_ids()
        where = self.ids if self._in_list else f"{self.file}: {self.ids}"
        if len(ids) != count:
            raise CrossmodalError(
                f"{where}: has {len(ids):,} ids, but {self.file} has {count:,} rows; give each row "
                "its id"
            )
        return self._matched(where, ids, wanted, whose, subset)

    @property
    def _in_list(self) -> bool:
        suffix = Path(self.ids).suffix.lower()
        return suffix in LISTS or (bool(suffix) and Path(self.ids).is_file())

    def _matched(
        self, where: str, ids: list[str], wanted: Sequence[Described], whose: str, subset: bool
    ) -> np.ndarray:
        names = _Names(wanted)
        for id, count in Counter(ids).items():
            if 0 < (own := names.count(id)) < count:  # which rows are meant, nobody can tell
                raise CrossmodalError(
                    f"{where}: {count} rows have the id {id!r}, but {own} of {whose} are of it; "
                    "leave out the rows of captions that are repeated or in other languages"
                )
        rows: dict[str, int] = {}
        for row, id in enumerate(ids):
            name = names.of(id)
            if name is None and subset:
                continue
            if name is None or name in rows:
                reason = f"is that of row {rows[name]}, too" if name else f"is not of {whose}"
                advice = "give each id once" if name else "correct it, or set `subset: true`"
                raise CrossmodalError(f"{where}: row {row}: the id {id!r} {reason}; {advice}")
            rows[name] = row
        if missing := [row.id for row in wanted if row.id not in rows]:
            raise CrossmodalError(
                f"{where}: has no row for {listed(map(repr, missing))} of {whose}; add them"
            )
        return np.array([rows[row.id] for row in wanted])


class _Names:
    """Items and captions that ids name; the id of an item names its captions one by one.

    Args:
        wanted: The items or captions.
    """

    def __init__(self, wanted: Sequence[Described]) -> None:
        self._known = {row.id for row in wanted}
        self._captions: dict[str, list[str]] = defaultdict(list)
        for row in reversed(wanted):
            if isinstance(row, Caption):
                self._captions[row.item].append(row.id)

    def count(self, id: str) -> int:
        """Return how many captions an item's id names."""
        return len(self._captions.get(id, ()))

    def of(self, id: str) -> str | None:
        """Return the id of the row that is meant; None if there is none."""
        if left := self._captions.get(id):
            return left.pop()
        return id if id in self._known else None


class Matrices:
    """Matrices below each other, whose rows are numbered on.

    Args:
        parts: Where they are.

    Raises:
        CrossmodalError: If one cannot be read, or their widths differ.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts, self._opened = parts, [part.open() for part in parts]
        self.counts = [matrix.shape[0] for matrix in self._opened]
        self._starts = np.cumsum([0, *self.counts])
        width = self._opened[0].shape[1]
        for part, matrix in zip(parts, self._opened, strict=True):
            if matrix.shape[1] != width:
                raise CrossmodalError(
                    f"{part.file}: has {matrix.shape[1]:,} columns, but {parts[0].file} has "
                    f"{width:,}; give all splits the same"
                )

    def take(self, numbers: np.ndarray, ids: Sequence[str]) -> np.ndarray:
        """Return rows as float32, (k, width).

        Args:
            numbers: Their numbers, (k,).
            ids: Their ids, for messages.

        Raises:
            CrossmodalError: If a value is NaN or infinite, or a file is corrupt.
        """
        rows = np.empty((len(numbers), self._opened[0].shape[1]), np.float32)
        owners = np.searchsorted(self._starts, numbers, side="right") - 1
        for owner in np.unique(owners):
            mine, part = np.flatnonzero(owners == owner), self._parts[owner]
            places = numbers[mine] - self._starts[owner]
            with np.errstate(over="ignore"):  # what is too large becomes infinite
                rows[mine] = take_rows(part.file, self._opened[owner], places)
            if (bad := np.flatnonzero(~np.isfinite(rows[mine]).all(axis=1))).size:
                raise CrossmodalError(
                    f"{part.file}: row {places[bad[0]]}, of {ids[mine[bad[0]]]!r}, has a value "
                    "that is NaN, infinite or too large for float32; correct it"
                )
        return rows
