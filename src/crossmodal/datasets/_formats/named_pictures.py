"""Pictures that JSON names without their folder, below the folder of the JSON or beside it."""

from pathlib import Path

from crossmodal.io.folders import list_files
from crossmodal.io.relative_names import defect
from crossmodal.io.spreadsheets import RowError
from crossmodal.io.suffixes import SUFFIXES


class NamedPictures:
    """Pictures below a folder, by their names.

    Args:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths: dict[str, list[Path]] = {}
        for path in list_files(root).files:
            if path.suffix.lower() in SUFFIXES["image"]:
                self.paths.setdefault(path.name, []).append(path)

    def find(self, table: Path, number: int, name: object) -> str:
        """Return the path, from the root, that a record means.

        Of equally named ones that has precedence whose path ends as the name, and whose folder
        shares most words with the table's name, as `val2014` with `captions_val2014.json`.

        Raises:
            RowError: If the name is none of a file, or no or several files have it.
        """
        reason = defect(name)
        if reason:
            raise RowError(table, number, f": the name {str(name)[:80]!r} {reason}")
        wanted = Path(str(name))
        equal = self.paths.get(wanted.name, [])
        ends = [path for path in equal if path.parts[-len(wanted.parts) :] == wanted.parts]
        likely = [p for p in ends or equal if p.parent.name and p.parent.name in table.stem]
        chosen = next((group for group in (likely, ends, equal) if group), [])
        if len(chosen) != 1:
            where = f"{len(chosen)} files" if chosen else "no file"
            raise RowError(table, number, f": {where} of the name {str(name)[:80]!r}")
        return chosen[0].as_posix()
