"""What a folder of a user's own files holds, and a CSV of it for the dataset `folder`."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from crossmodal.errors import CrossmodalError

KINDS = {
    "pictures": "jpg jpeg png gif bmp tif tiff webp ppm avif heic heif",
    "sound files": "wav flac ogg oga opus mp3 aif aiff au",
    "texts": "txt",
}
KIND_OF = {f".{suffix}": kind for kind, suffixes in KINDS.items() for suffix in suffixes.split()}
# of cameras and telephones, which do not describe what is seen or said
SERIAL = {"img", "image", "dsc", "dscn", "dscf", "pxl", "photo", "picture", "screenshot", "video"}
SERIAL |= {"mvi", "scan", "rec", "recording", "audio", "track", "copy", "whatsapp", "edited"}


@dataclass
class OwnItem:
    """A picture or, where there are none, a sound file, with what belongs to it.

    Args:
        id: Its path without the suffix.
        image: Path of the picture, from the folder; empty if there is none.
        text: Its captions.
        speech: Paths of its sound files.
        label: Name of its sub-folder; empty if all items are in one.
    """

    id: str
    image: str = ""
    text: list[str] = field(default_factory=list)
    speech: list[str] = field(default_factory=list)
    label: str = ""

    def has(self) -> set[str]:
        """The modalities that it has something of."""
        return {m for m in ("image", "text", "speech") if getattr(self, m)}

    def rows(self) -> Iterator[tuple[str, str, str, str, str]]:
        """A row for each caption: id, image, text, sound file and label."""
        captions = zip_longest(self.text, self.speech, fillvalue="")
        for number, (text, sound) in enumerate(captions):
            image, label = ("", "") if number else (self.image, self.label)
            yield self.id, image, text, sound, label


def files_of(folder: Path) -> dict[str, list[Path]]:
    """Files below a folder by kind, as paths from the folder; hidden ones are left out.

    Raises:
        CrossmodalError: If there are neither pictures nor sound files.
    """
    paths = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    seen = [path for path in paths if not any(part.startswith(".") for part in path.parts)]
    found: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    for path in seen:
        if kind := KIND_OF.get(path.suffix.lower()):
            found[kind].append(path)
    if not (found["pictures"] or found["sound files"]):
        others = Counter(path.suffix.lower() or "no suffix" for path in seen)
        have = ", ".join(f"{count} {suffix}" for suffix, count in others.most_common(5))
        raise CrossmodalError(
            f"{folder}: neither pictures ({KINDS['pictures']}) nor sound files "
            f"({KINDS['sound files']}), but {have or 'nothing'}"
        )
    return found


def items_of(folder: Path, found: dict[str, list[Path]]) -> list[OwnItem]:
    """The items of a folder, from its files by kind.

    Sound files and texts belong to the picture of the same name, in its folder or in another one.
    Captions are the lines of the texts, or else the words of the file's name, or else its label.
    """
    kind = "pictures" if found["pictures"] else "sound files"
    mates = {"texts": _by_name(found["texts"])}
    mates["sound files"] = _by_name(found["sound files"]) if kind == "pictures" else {}
    paths = found[kind]
    folders = {path.parent for path in paths}
    repeated = Counter(path.with_suffix("") for path in paths)
    stems = Counter(path.stem for path in paths)
    items = []
    for path in paths:
        bare = path.with_suffix("")
        names = [str(bare), *([path.stem] if stems[path.stem] == 1 else [])]
        item = OwnItem((path if repeated[bare] > 1 else bare).as_posix())
        item.label = path.parent.name if len(folders) > 1 else ""
        sounds = [path] if kind == "sound files" else _first(mates["sound files"], names)
        item.speech = [sound.as_posix() for sound in sounds]
        item.image = path.as_posix() if kind == "pictures" else ""
        lines = [line for text in _first(mates["texts"], names) for line in _lines(folder / text)]
        words = _words(path.stem) or _words(item.label)
        item.text = lines or ([words] if words else [])
        items.append(item)
    return items


def _by_name(paths: list[Path]) -> dict[str, list[Path]]:
    """Files by their path without suffix, and by their name alone."""
    found: dict[str, list[Path]] = {}
    for path in paths:
        for name in {str(path.with_suffix("")), path.stem}:
            found.setdefault(name, []).append(path)
    return found


def _first(mates: dict[str, list[Path]], names: list[str]) -> list[Path]:
    return next((mates[name] for name in names if name in mates), [])


def _lines(path: Path) -> list[str]:
    """Lines of a text file, each once."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except ValueError as error:
        raise CrossmodalError(f"{path}: is not UTF-8; save it so") from error
    return list(dict.fromkeys(" ".join(line.split()) for line in text.splitlines() if line.strip()))


def _words(name: str) -> str:
    """What a name says in words; nothing if it is a number of a camera."""
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)*", name)
    telling = [word for word in words if len(word) > 2 and word.lower() not in SERIAL]
    return " ".join(words) if telling else ""
