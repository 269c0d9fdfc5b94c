"""Contents that lie within larger files, read where they are."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Self

from crossmodal.errors import CrossmodalError


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes of a file.

    Args:
        path: The file.
        offset: Where they begin.
        size: How many there are.
    """

    path: Path
    offset: int
    size: int

    def read(self) -> bytes:
        """Return the bytes.

        Raises:
            CrossmodalError: If the file is shorter than it was.
        """
        with self.path.open("rb") as stream:
            stream.seek(self.offset)
            content = stream.read(self.size)
        if len(content) < self.size:
            raise CrossmodalError(f"{self.path}: became shorter while it was read; run again")
        return content


class Spool:
    """A temporary file for contents that can only be read in order; use as a context manager.

    Args:
        folder: Where there is room for it.
    """

    def __init__(self, folder: Path) -> None:
        self._file = NamedTemporaryFile(dir=folder, prefix=".")  # noqa: SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def keep(self, content: bytes) -> Extent:
        """Return where the content is kept."""
        offset = self._file.tell()
        self._file.write(content)
        self._file.flush()
        return Extent(Path(self._file.name), offset, len(content))
