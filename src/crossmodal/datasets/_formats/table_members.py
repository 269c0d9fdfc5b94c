"""Pictures and sounds whose bytes are in tables, and the paths that stand for them."""

import hashlib
from pathlib import Path, PurePosixPath

from crossmodal.data.writer import is_file_name
from crossmodal.datasets._formats.item_records import Keep, Member
from crossmodal.datasets._own_names import legal_id
from crossmodal.io.extents import Extent
from crossmodal.io.relative_names import defect


def unkept(content: bytes) -> Extent:
    """Return a place where nothing is stored: contents are told apart alone."""
    return Extent(Path(), 0, len(content))


class TableMembers:
    """Contents of tables; equal ones of one path and split are one member.

    Args:
        keep: Stores bytes.
    """

    def __init__(self, keep: Keep) -> None:
        self.keep = keep
        self._members: dict[tuple[str, str, bytes], Member] = {}
        self._ids: set[str] = set()  # that the members' names give

    def of(self, content: bytes, split: str, path: str, place: str) -> Member:
        """Return the member that a content is.

        Args:
            content: Bytes.
            split: Of the table.
            path: That the table states; many write none, or one that others have, too.
            place: Path that stands for it where that cannot.
        """
        key = split, path, hashlib.sha256(content).digest()
        if key not in self._members:
            self._members[key] = Member(self._name(path) or place, self.keep(content))
        return self._members[key]

    def _name(self, path: str) -> str:
        """Return a path in its normal form; empty if no item can be called so, or one is."""
        if defect(path) or ":" in path:
            return ""
        name = PurePosixPath(path)
        id = legal_id(name.with_suffix(""))
        if id in self._ids or not is_file_name(id):
            return ""
        self._ids.add(id)
        return name.as_posix()
