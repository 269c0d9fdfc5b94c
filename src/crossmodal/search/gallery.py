"""What is searched: items of one modality, of a dataset's split or of any folder."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from crossmodal.data.feature_file import Ragged
from crossmodal.data.feature_reader import read_features
from crossmodal.data.prepared import Prepared
from crossmodal.errors import CrossmodalError, listed
from crossmodal.io.folders import list_files
from crossmodal.io.image_files import read_image
from crossmodal.io.sound_files import decode_speech
from crossmodal.io.suffixes import SUFFIXES
from crossmodal.models.model import ARGUMENTS, Model


class Gallery(ABC):
    """Items of one modality.

    Attributes:
        name: Where they are, for messages.
        modality: 'image', 'text' or 'speech'.
    """

    name: str
    modality: str

    @abstractmethod
    def stamp(self) -> Any:
        """What changes, as JSON, when the items do."""

    @abstractmethod
    def embed(self, model: Model) -> tuple[list[str], np.ndarray]:
        """Ids of all items, (n,), and their embeddings, (n, ...).

        Raises:
            CrossmodalError: If there are none, or one cannot be embedded.
        """

    @abstractmethod
    def text(self, id: str) -> str:
        """What an item says; empty if that is unknown."""

    @abstractmethod
    def labels(self, id: str) -> tuple[str, ...]:
        """Labels of an item."""

    @abstractmethod
    def media(self, id: str) -> bytes:
        """The encoded image or speech of an item; empty if it has none."""


class SplitGallery(Gallery):
    """A split of a prepared dataset, as the pipeline sees it.

    Args:
        dataset: Folder of the prepared dataset.
        split: 'train', 'validation' or 'test'.
        modality: Of the items.
        feature: Feature file of that modality.
    """

    def __init__(self, dataset: Path, split: str, modality: str, feature: Path) -> None:
        self.name, self.modality = f"{dataset.name}, {split}", modality
        self._split, self._feature, self._prepared = split, feature, Prepared(dataset)

    def stamp(self) -> Any:
        """Names, sizes and times of the files that say what the items are."""
        splits = self._prepared.folder / "splits.csv"
        return [self._split, *(_stamp(path) for path in (splits, self._feature))]

    def embed(self, model: Model) -> tuple[list[str], np.ndarray]:
        """Embeddings of the rows of the feature file."""
        items = [item.id for item in self._prepared.split(self._split)]
        found = read_features(self._feature, items)
        if not found.ids:
            raise CrossmodalError(f"{self.name}: the split has no {self.modality}")
        if found.meta != model.features[self.modality]:
            raise CrossmodalError(
                f"{self._feature}: was extracted otherwise than for the model; train it again"
            )
        rows = found.features
        rows = [rows[i] for i in range(len(rows))] if isinstance(rows, Ragged) else rows
        return found.ids, model.embed_features(self.modality, rows)

    def text(self, id: str) -> str:
        """The caption; of an item all of them."""
        captions = [self._captions[id]] if id in self._captions else self._prepared.captions_of[id]
        return " · ".join(caption.text for caption in captions)

    def labels(self, id: str) -> tuple[str, ...]:
        """Labels of the item."""
        return self._items[self._captions[id].item if id in self._captions else id].labels

    def media(self, id: str) -> bytes:
        """A member of the dataset's media.zip."""
        if self.modality == "image":
            member = self._items[id].image
        else:
            member = self._captions[id].audio if id in self._captions else ""
        return self._prepared.read(member) if member else b""

    @cached_property
    def _items(self) -> dict[str, Any]:
        return {item.id: item for item in self._prepared.items}

    @cached_property
    def _captions(self) -> dict[str, Any]:
        return {caption.id: caption for caption in self._prepared.captions}


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
        self.name, self.modality, self._folder = str(folder), modality, folder
        if not folder.is_dir():
            raise CrossmodalError(f"{folder}: is no folder; name one with --in")
        self._files = [
            folder / path
            for path in list_files(folder).files
            if path.suffix.lower() in SUFFIXES[modality]
        ]
        if not self._files:
            raise CrossmodalError(
                f"{folder}: no {modality} is here; looked for {', '.join(SUFFIXES[modality])}"
            )

    def stamp(self) -> Any:
        """Names, sizes and times of all files."""
        return [_stamp(path) for path in self._files]

    def embed(self, model: Model) -> tuple[list[str], np.ndarray]:
        """Embeddings of all files, or lines."""
        if not self._entries:
            raise CrossmodalError(f"{self.name}: all lines of its text files are blank")
        if self.modality == "text":
            entries = self._with_words(model)
        else:
            entries = {self._id(path): path for path in self._readable}
        items = {ARGUMENTS[self.modality]: list(entries.values())}
        return list(entries), model.embed(**items, label=f"index {self.name}")

    @cached_property
    def _readable(self) -> list[Path]:
        """The files but those, with a warning, that cannot be read."""

        def check(path: Path) -> bool:
            try:
                READERS[self.modality](path)
            except (CrossmodalError, OSError):
                return False
            return True

        with ThreadPoolExecutor() as pool:
            is_readable = [*pool.map(check, self._files)]
        readable = [*compress(self._files, is_readable)]
        broken = [self._id(path) for path in sorted({*self._files} - {*readable})]
        if broken:
            count = f"{len(broken):,} of {len(self._files):,} files"
            reason = f"{self.name}: {count} cannot be read as {self.modality}: {listed(broken)}"
            if not readable:
                raise CrossmodalError(f"{reason}; replace them")
            warnings.warn(f"{reason}; they are left out", stacklevel=2)
        return readable

    def _with_words(self, model: Model) -> dict[str, Path | str]:
        """Return the lines but those, with a warning, of which the model knows no word."""
        ids = [*self._entries]
        wordless = {ids[row] for row in model.wordless([*self._entries.values()])}
        if wordless == {*ids}:
            raise CrossmodalError(f"{self.name}: the model knows no word of its {len(ids)} lines")
        if wordless:
            warnings.warn(
                f"{self.name}: left out, since the model knows no word of them: "
                f"{listed(sorted(wordless))}",
                stacklevel=2,
            )
        return {id: line for id, line in self._entries.items() if id not in wordless}

    @cached_property
    def _entries(self) -> dict[str, Path | str]:
        """Path of each file, or content of each line."""
        if self.modality != "text":
            return {self._id(path): path for path in self._files}
        return {
            f"{self._id(path)}:{number}": line.strip()
            for path in self._readable
            for number, line in enumerate(_lines(path), 1)
            if line.strip()
        }

    def _id(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()

    def text(self, id: str) -> str:
        """The line, if it is one."""
        return self._entries[id] if self.modality == "text" else ""

    def labels(self, id: str) -> tuple[str, ...]:
        """None are known."""
        return ()

    def media(self, id: str) -> bytes:
        """The file."""
        return b"" if self.modality == "text" else self._entries[id].read_bytes()


def _stamp(path: Path) -> tuple[str, int, int]:
    """Name, size and time of a file."""
    try:
        found = path.stat()
    except OSError as error:
        raise CrossmodalError(f"{path}: {error.strerror}; run the workflow for it first") from error
    return str(path.resolve()), found.st_size, found.st_mtime_ns


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CrossmodalError(f"{path}: cannot be read as UTF-8 text ({error})") from error


READERS: dict[str, Callable[[Path], object]] = {
    "image": lambda path: read_image(path.read_bytes(), str(path)),
    "text": _lines,
    "speech": lambda path: decode_speech(path.read_bytes(), str(path)),
}
