"""A folder of files as a gallery."""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import compress
from pathlib import Path

import numpy as np

from crossmodal.errors import CrossmodalError, listed
from crossmodal.io.folders import BROKEN, CLOSED, NOT_UTF8, list_files
from crossmodal.io.image_files import read_image
from crossmodal.io.sound_files import decode_speech
from crossmodal.io.suffixes import SUFFIXES
from crossmodal.models.model import Model
from crossmodal.search.gallery import Gallery, embed_items, stamp_of


class FolderGallery(Gallery):
    """The files of a folder and of all folders in it; of text files, the lines.

    An id is the path of the file in the folder; of a line, also its number. Links are followed;
    hidden files do not count. Files that cannot be read are left out, with a warning.

    Args:
        folder: The folder.
        modality: Of the items.

    Raises:
        CrossmodalError: If the folder has no file of that modality.
    """

    def __init__(self, folder: Path, modality: str) -> None:
        self.name, self.modality = str(folder), modality
        self._files, self._closed = files_of(folder, modality)
        if not self._files:
            raise CrossmodalError(
                f"{folder}: no {modality} is here; looked for {', '.join(SUFFIXES[modality])}"
            )

    def stamp(self) -> list[object]:
        """Return names, sizes and times of all files."""
        return [*map(stamp_of, self._files.values())]

    def embed(self, model: Model) -> tuple[list[str], np.ndarray]:
        """Embed all files, or lines."""
        entries = self._with_words(model) if self.modality == "text" else self._readable
        label = f"index {self.name}"
        return [*entries], embed_items(model, self.modality, [*entries.values()], label)

    @cached_property
    def _readable(self) -> dict[str, Path]:
        """Files by id, without unreadable ones, which a warning names."""

        def check(path: Path) -> bool:
            try:
                READERS[self.modality](path)
            except (CrossmodalError, OSError):
                return False
            return True

        with ThreadPoolExecutor() as pool:
            is_readable = [*pool.map(check, self._files.values())]
        readable = dict(compress(self._files.items(), is_readable))
        broken = sorted([*(self._files.keys() - readable.keys()), *self._closed])
        if broken:
            count = f"{len(broken):,} of {len(self._files) + len(self._closed):,} files"
            reason = f"{self.name}: {count} cannot be read as {self.modality}: {listed(broken)}"
            if not readable:
                raise CrossmodalError(f"{reason}; replace them")
            warnings.warn(f"{reason}; they are left out", stacklevel=2)
        return readable

    def _with_words(self, model: Model) -> dict[str, str]:
        """Return the lines by id, without those of unknown words only, which a warning names."""
        ids = [*self._lines]
        if not ids:
            raise CrossmodalError(f"{self.name}: all lines of its text files are blank")
        wordless = {ids[row] for row in model.wordless([*self._lines.values()])}
        if wordless == {*ids}:
            raise CrossmodalError(f"{self.name}: the model knows no word of its {len(ids)} lines")
        if wordless:
            warnings.warn(
                f"{self.name}: left out, since the model knows no word of them: "
                f"{listed(sorted(wordless))}",
                stacklevel=2,
            )
        return {id: line for id, line in self._lines.items() if id not in wordless}

    @cached_property
    def _lines(self) -> dict[str, str]:
        return {
            f"{id}:{number}": line.strip()
            for id, path in self._readable.items()
            for number, line in enumerate(_read_lines(path), 1)
            if line.strip()
        }

    def text(self, id: str) -> str:
        """Return the line, if it is one."""
        return self._lines[id] if self.modality == "text" else ""

    def labels(self, id: str) -> tuple[str, ...]:
        """Return no labels, since none are known."""
        return ()

    def media(self, id: str) -> bytes:
        """Return the file."""
        return b"" if self.modality == "text" else self._files[id].read_bytes()


def files_of(folder: Path, modality: str) -> tuple[dict[str, Path], list[str]]:
    """Return the files of a modality in a folder.

    Returns:
        The files by id, and what may hold others: folders that cannot be opened, and files of links
        or names that nothing can follow.

    Raises:
        CrossmodalError: If there is no such folder.
    """
    if not folder.is_dir():
        raise CrossmodalError(f"{folder}: is no folder; name one with --in")
    listing = list_files(folder)
    files, lost = (
        [path for path in paths if path.suffix.lower() in SUFFIXES[modality]]
        for paths in (listing.files, [*listing.left_out[BROKEN], *listing.left_out[NOT_UTF8]])
    )
    closed = [ascii(path.as_posix())[1:-1] for path in [*listing.left_out[CLOSED], *lost]]
    return {path.as_posix(): folder / path for path in files}, closed


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CrossmodalError(f"{path}: cannot be read as UTF-8 text ({error})") from error


READERS: dict[str, Callable[[Path], object]] = {
    "image": lambda path: read_image(path.read_bytes(), str(path)),
    "text": _read_lines,
    "speech": lambda path: decode_speech(path.read_bytes(), str(path)),
}
