"""Files that a user's CSV names: where they are, and what is in them.

The CSV is the user's own, so its paths and the links they lead through may go anywhere; of what is
there, only regular files are opened.
"""

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from pathlib import Path, PurePosixPath
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from crossmodal.errors import CrossmodalError
from crossmodal.io.extents import Extent
from crossmodal.io.image_files import read_image
from crossmodal.io.sound_files import decode_speech
from crossmodal.io.spreadsheets import Row

if TYPE_CHECKING:
    from PIL.Image import Image

COLUMNS = ("image", "speech")
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://|data:", re.IGNORECASE)
SUFFIX = re.compile(r"\.\w+", re.ASCII)

File = tuple[str, Path]  # column and path


@dataclass(frozen=True)
class Content:
    """Decoded content of a file.

    Args:
        digest: SHA-256 of its bytes.
        picture: One of Pillow's images, of an image.
        samples: Number of samples, of a sound.
    """

    digest: str
    picture: "Image | None" = None
    samples: int | None = None


class Media:
    """Files that the rows of a CSV name.

    Args:
        root: Folder in which relative paths are looked up.
        members: Where the files lie that are within others.
    """

    def __init__(self, root: Path, members: Mapping[Path, Extent] | None = None) -> None:
        self.root = root
        self.members = members or {}
        self._listings: dict[Path, dict[str, str]] = {}

    def files(self, row: Row) -> Iterator[File]:
        """Yield the files that a row names.

        Raises:
            RowError: If a column holds an address.
        """
        yield from ((column, self.path(row, column)) for column in COLUMNS if row[column])

    def path(self, row: Row, column: str) -> Path:
        """Return the file that a column names, with slashes or backslashes, in any Unicode form.

        Raises:
            RowError: If it is an address.
        """
        name = row[column]
        if ADDRESS.match(name):
            reason = f"{name[:80]!r} is an address; download the file, and give its path"
            raise row.error(column, reason)
        path = self.root / name
        if path in self.members or os.path.lexists(path):
            return path
        return reduce(self._member, PurePosixPath(name.replace("\\", "/")).parts, self.root)

    def read(self, row: Row, column: str) -> tuple[bytes | None, str]:
        """Return the content and suffix of the file that a column names, if it names one."""
        if not row[column]:
            return None, ""
        path = self.path(row, column)
        return self.content(path), path.suffix if SUFFIX.fullmatch(path.suffix) else ""

    def content(self, path: Path) -> bytes:
        """Return the bytes of a file, or of a member of one.

        Raises:
            CrossmodalError: If it cannot be read.
        """
        try:
            if path in self.members:
                return self.members[path].read()
            mode = path.stat().st_mode
            if not (S_ISREG(mode) or S_ISDIR(mode)):
                raise CrossmodalError(f"{path}: is a device or a pipe; name a file")
            return path.read_bytes()
        except OSError as error:
            raise CrossmodalError(f"{path}: {_reason(path, error)}") from error

    def decode(self, path: Path, column: str) -> Content:
        """Decode the file that a column names.

        Raises:
            CrossmodalError: If it cannot be read, or is not of the column's kind.
        """
        content = self.content(path)
        digest = hashlib.sha256(content).hexdigest()
        if column == "image":
            return Content(digest, picture=read_image(content, str(path)))
        samples, _ = decode_speech(content, str(path))
        return Content(digest, samples=len(samples))

    def _member(self, folder: Path, part: str) -> Path:
        """Return a member of a folder, also if its accents are of another Unicode form."""
        path = folder / part
        if os.path.lexists(path):
            return path
        if folder not in self._listings:
            names: list[str] = []
            with suppress(OSError):
                names = os.listdir(folder)
            self._listings[folder] = {unicodedata.normalize("NFC", name): name for name in names}
        return folder / self._listings[folder].get(unicodedata.normalize("NFC", part), part)


def _reason(path: Path, error: OSError) -> str:
    if os.path.islink(path) and not os.path.exists(path):
        return f"is a link to {os.readlink(path)}, which is not there; fetch that file"
    advice = "allow reading it" if isinstance(error, PermissionError) else "correct the path"
    return f"{error.strerror}; {advice}"
