"""Names of columns, as tables of others have them, and what of an item they hold."""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from crossmodal.errors import CrossmodalError
from crossmodal.io.suffixes import SUFFIXES

PAGE = "docs/formats.md"  # that lists these names
FILES = ("file_name", "filename", "file_path", "filepath", "file", "path")  # of either kind
NAMES = {
    # beside an image's, `id` is the caption's, as in COCO's annotations
    "id": ("image_id", "img_id", "imgid", "id", "key", "__key__", "uid", "item"),
    "image": (
        *("image", "image_path", "image_file", "image_file_name", "image_name", "img", "img_path"),
        *("photo", "picture", "jpg", "jpeg", "png", "webp"),
    ),
    "text": (
        *("text", "caption", "captions", "texts", "sentence", "sentences", "raw", "description"),
        *("transcription", "transcript", "alt_text", "txt", "comment"),
    ),
    "speech": (
        *("speech", "audio", "audio_path", "audio_file", "audio_file_name", "sound", "recording"),
        *("wav", "flac", "mp3"),
    ),
    "labels": ("labels", "label", "category", "categories", "class", "cls", "tags"),
    "split": ("split", "subset", "partition"),
}
ALL = {*FILES, *(name for names in NAMES.values() for name in names)}


def meant(columns: Iterable[str]) -> dict[str, str]:
    """Return the column that holds each part of an item: the first that is there of those known.

    A column of files, of which the values tell whether they are pictures or sounds, is `file`.
    """
    there = {column.strip().casefold(): column for column in reversed([*columns])}
    chosen = {
        part: there[name]
        for part, names in NAMES.items()
        if (name := next((name for name in names if name in there), ""))
    }
    file = next((name for name in FILES if name in there), "")
    if file and not {"image", "speech"} <= {*chosen}:
        chosen["file"] = there[file]
    return chosen


def suffices(columns: Iterable[str]) -> bool:
    """Return whether columns hold at least two of image, text and speech."""
    chosen = {*meant(columns)}
    return len(chosen & {"image", "text", "speech"}) + ("file" in chosen) > 1


def refuse_repeated(table: Path, columns: Iterable[str]) -> None:
    """Check that a table has no column twice that is read.

    Raises:
        CrossmodalError: If it has.
    """
    names = [column.strip().casefold() for column in columns]
    if repeated := next((name for name in names if name in ALL and names.count(name) > 1), None):
        raise CrossmodalError(f"{table}: column {repeated!r} is repeated; rename or remove one")


def parts(record: dict[str, object], columns: dict[str, str]) -> dict[str, object]:
    """Return what a record of a table says of an item, by the columns of `meant`."""
    values = {part: record.get(column) for part, column in columns.items()}
    file = values.pop("file", None)
    if file:
        suffix = PurePosixPath(str(file)).suffix.lower()
        kind = "speech" if suffix in SUFFIXES["speech"] else "image"
        if not values.get(kind):
            values[kind] = file
    return values
