"""Pictures and sounds that a table or JSON names without their folder."""

import os
import re
from functools import cached_property
from itertools import groupby
from pathlib import Path

from crossmodal.io.folders import list_files
from crossmodal.io.relative_names import defect
from crossmodal.io.spreadsheets import RowError
from crossmodal.io.suffixes import SUFFIXES

MEDIA = (*SUFFIXES["image"], *SUFFIXES["speech"])


class NamedFiles:
    """Pictures and sounds below a folder, by their names.

    Of equally named ones that has precedence whose folder is a word of the table's name, as
    `val2014` of `captions_val2014.json`.

    Args:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def paths(self) -> dict[str, list[Path]]:
        """Return the paths of each name, from the root."""
        files = (path for path in list_files(self.root).files if path.suffix.lower() in MEDIA)
        by_name = groupby(sorted(files, key=lambda path: path.name), key=lambda path: path.name)
        return {name: [*paths] for name, paths in by_name}

    def find(self, table: Path, number: int, name: object) -> str:
        """Return the path, from the root, that a record means, if possible one that ends so.

        Raises:
            RowError: If the name is none of a file, or no or several files have it.
        """
        reason = defect(name)
        if reason:
            raise RowError(table, number, f": the name {str(name)[:80]!r} {reason}")
        wanted = Path(str(name))
        chosen = _likely(table, self._ending(wanted) or self.paths.get(wanted.name, []))
        if len(chosen) != 1:
            where = f"{len(chosen)} files" if chosen else "no file"
            raise RowError(table, number, f": {where} of the name {str(name)[:80]!r}")
        return chosen[0].as_posix()

    def place(self, table: Path, beside: Path, value: object) -> object:
        """Return the path of a file that a table names from a folder; of another value, itself.

        Where no file is, it is that of the only one below that ends so, if there is one.
        """
        if not isinstance(value, str) or not value or "://" in value:
            return value
        path = beside / value.replace("\\", "/")
        is_there = os.path.lexists(self.root / path)
        chosen = [] if is_there else _likely(table, self._ending(path))
        return (chosen[0] if len(chosen) == 1 else path).as_posix()

    def _ending(self, wanted: Path) -> list[Path]:
        equal = self.paths.get(wanted.name, [])
        return [path for path in equal if path.parts[-len(wanted.parts) :] == wanted.parts]


def _likely(table: Path, paths: list[Path]) -> list[Path]:
    words = re.split(r"[\W_]+", table.stem)
    return [path for path in paths if path.parent.name in words] or paths
