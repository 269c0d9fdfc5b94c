"""Items of a user's own files, for a CSV of the dataset `folder`."""

import codecs
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from pathlib import Path

from crossmodal.datasets._own_labels import places
from crossmodal.datasets._own_names import belonging, ids, same, words
from crossmodal.datasets._unread import listed, reason
from crossmodal.errors import CrossmodalError
from crossmodal.io.folders import list_files
from crossmodal.io.image_files import formats
from crossmodal.io.spreadsheets import Findings, RowError
from crossmodal.io.suffixes import PICTURES, SUFFIXES

NOUNS = {"image": "pictures", "speech": "sound files", "text": "texts"}
ABOUT = {"readme", "license", "licence", "copying", "notice", "credits", "changelog"}
UNREADABLE = "texts that cannot be read; save them as UTF-8"
OUTSIDE = "outside of the folders of splits; move them into one"


@dataclass
class OwnItem:
    """A picture or, where there are none, a sound file, with what belongs to it.

    Args:
        id: Its path without the suffix, as far as that is unique.
        image: Path of the picture, from the folder; empty if there is none.
        captions: Text and path of the sound file of each; one of the two may be empty.
        label: Name of its sub-folder; empty if all items are in one.
        split: 'train', 'validation' or 'test'; empty if its folders do not say it.
        described: Its captions are lines of texts, not the words of its name.
    """

    id: str
    image: str = ""
    captions: list[tuple[str, str]] = field(default_factory=list)
    label: str = ""
    split: str = ""
    described: bool = False

    @property
    def text(self) -> list[str]:
        """Return what its captions say."""
        return [text for text, _ in self.captions if text]

    @property
    def speech(self) -> list[str]:
        """Return the paths of its sound files."""
        return [sound for _, sound in self.captions if sound]

    @property
    def path(self) -> Path:
        """Return the path of what the item is."""
        return Path(self.image or self.speech[0])

    def has(self) -> set[str]:
        """Return the modalities that it has something of."""
        return {m for m in ("image", "text", "speech") if getattr(self, m)}

    def rows(self) -> Iterator[dict[str, str]]:
        """Yield the fields of each caption, by column."""
        item = {"image": self.image, "labels": self.label, "split": self.split}
        for number, (text, sound) in enumerate(self.captions):
            of_item = dict.fromkeys(item, "") if number else item
            yield {"id": self.id, "text": text, "speech": sound} | of_item


@dataclass
class OwnFiles:
    """Files below a folder, as paths from it.

    Args:
        folder: The folder.
        read: Of each modality.
        left_out: By the reason why they are not read: 'what; advice'.
    """

    folder: Path
    read: dict[str, list[Path]]
    left_out: dict[str, list[Path]]

    def counts(self) -> str:
        """Return how many there are of each kind, in words."""
        return ", ".join(f"{len(paths)} {NOUNS[m]}" for m, paths in self.read.items() if paths)


def files_of(folder: Path) -> OwnFiles:
    """List the files below a folder by what they hold."""
    listing = list_files(folder)
    files = OwnFiles(folder, {modality: [] for modality in NOUNS}, {})
    for path in listing.files:
        if modality := _modality(path):
            files.read[modality].append(path)
        else:
            files.left_out.setdefault(reason(folder, path), []).append(path)
    files.left_out |= listing.left_out
    return files


def _modality(path: Path) -> str:
    """Return what a file holds; empty if it is not read."""
    suffix = path.suffix.lower()
    if suffix in PICTURES["HEIF"] and "HEIF" not in formats():
        return ""
    if suffix in SUFFIXES["text"] and path.stem.lower() in ABOUT:
        return ""
    return next((m for m in NOUNS if suffix in SUFFIXES[m]), "")


def items_of(files: OwnFiles, skip_bad: bool = False) -> list[OwnItem]:
    """Return the items of a folder; what belongs to none is added to what is left out.

    Captions are the lines of an item's texts, or else the words of the file's name, or else its
    label; an item has none whose texts cannot be read.

    Args:
        files: What is in the folder.
        skip_bad: Whether texts that cannot be read are left out.

    Raises:
        CrossmodalError: If there are neither pictures nor sound files, or texts or sound files of
            which none belongs to an item, or that cannot be read.
    """
    main = next((m for m in ("image", "speech") if files.read[m]), None)
    if not main:
        raise _no_media(files)
    paths = files.read[main]
    place, named = places(paths), ids(paths)
    texts = _mates("text", main, files)
    sounds = _mates("speech", main, files) if main == "image" else {}
    if any(place[path].split for path in paths):
        outside = [path for path in paths if not place[path].split]
        files.left_out |= {f"{NOUNS[main]} {OUTSIDE}": outside} if outside else {}
        paths = [path for path in paths if place[path].split]
    used = chain(*(texts.get(path, []) for path in paths))
    read, items = _read_texts(used, files, skip_bad), []
    for path in paths:
        item = OwnItem(named[path], label=place[path].label, split=place[path].split)
        spoken = [path] if main == "speech" else sounds.get(path, [])
        item.image = _field(path) if main == "image" else ""
        own = texts.get(path, [])
        lines = {text: read[text] for text in own if text in read}
        item.described = any(lines.values())
        if not item.described:
            name = (words(path.stem) or words(item.label)) if lines or not own else ""
            lines = {path: [name] if name else []}
        item.captions = _captions(lines, spoken)
        items.append(item)
    return items


def _captions(lines: dict[Path, list[str]], sounds: list[Path]) -> list[tuple[str, str]]:
    """Return lines with the sounds of the text's name; in their order, where no name is shared."""
    shared = {same(text.stem) for text in lines} & {same(sound.stem) for sound in sounds}
    groups: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for text, own in lines.items():
        groups[same(text.stem) if shared else ""][0].extend(own)
    for sound in sounds:
        groups[same(sound.stem) if shared else ""][1].append(_field(sound))
    pairs = (
        zip_longest(dict.fromkeys(own), spoken, fillvalue="") for own, spoken in groups.values()
    )
    return [*dict.fromkeys(chain.from_iterable(pairs))]


def _mates(modality: str, main: str, files: OwnFiles) -> dict[Path, list[Path]]:
    """Return the texts, or sound files, of each item; the others are left out."""
    owned = belonging(files.read[main], files.read[modality])
    owners = {*chain(*owned.values())}
    lost = [path for path in files.read[modality] if path not in owners]
    why = f"{NOUNS[modality]} that belong to none of the {NOUNS[main]}"
    why += f"; call each like one of the {NOUNS[main]}, or give a table among them itself"
    if lost:
        files.left_out[why] = lost
    if lost and not owned:
        raise CrossmodalError(f"{files.folder}: {'; '.join(listed({why: lost}))}")
    return owned


def _no_media(files: OwnFiles) -> CrossmodalError:
    kinds = [f"{NOUNS[m]} ({', '.join(SUFFIXES[m])})" for m in ("image", "speech")]
    rest = listed(files.left_out) or [files.counts() or "nothing"]
    neither = f"{files.folder}: neither {' nor '.join(kinds)}, but"
    return CrossmodalError("\n  ".join([neither, *rest]))


def _field(path: Path) -> str:
    """Return a path as a CSV holds it, whose fields lose spaces at their ends."""
    name = path.as_posix()
    return f"./{name}" if name != name.strip() or ":" in name else name


def _read_texts(texts: Iterable[Path], files: OwnFiles, skip_bad: bool) -> dict[Path, list[str]]:
    """Return the lines of each text that can be read; the others are left out.

    Raises:
        CrossmodalError: Naming them, unless they are to be skipped.
    """
    findings, lines = Findings(), {}
    texts = [*dict.fromkeys(texts)]
    for text in texts:
        with findings.collect():
            lines[text] = _lines(files.folder / text)
    if not skip_bad:
        findings.report()
    if findings.errors:
        files.left_out[UNREADABLE] = [text for text in texts if text not in lines]
    return lines


def _lines(path: Path) -> list[str]:
    """Return the lines of a text file.

    Raises:
        RowError: If it cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RowError(path, 0, f": {error.strerror}; allow reading it") from error
    marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = content.decode("utf-16" if marked else "utf-8-sig")
    except ValueError as error:
        raise RowError(path, 0, ": is not UTF-8; save it so") from error
    if "\0" in text:
        raise RowError(path, 0, ": is no text, but has NUL characters; save it as UTF-8")
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]
