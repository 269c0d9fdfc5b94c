"""Names of a user's files: which belong together, what they say, and ids made of them."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import chain, count
from pathlib import Path, PurePath, PureWindowsPath

from crossmodal.data.writer import NOT_IN_NAMES, is_file_name

# what follows the name of a picture in the names of its texts: a_1, a.0, a (2), a.caption
ENDING = re.compile(r"[\s._#-]+(?:captions?|texts?|\d+|\(\d+\))$", re.IGNORECASE)
JOINERS = {"'", "\u2019", "\u200c", "\u200d"}  # within words: apostrophes, (non-)joiners
# of cameras and telephones, which do not describe what is seen or said
SERIAL = {"img", "image", "dsc", "dscn", "dscf", "pxl", "photo", "picture", "screenshot", "video"}
SERIAL |= {"mvi", "scan", "rec", "recording", "audio", "track", "copy", "whatsapp", "edited"}
SERIAL |= {"bildschirmfoto", "uhr", "capture", "captura", "pantalla", "schermata", "alle", "ore"}


def same(name: str) -> str:
    """Return what names have in common that differ in Unicode form or in case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def natural(path: Path) -> list[str | int]:
    """Return a key that sorts a2 before a10."""
    parts = re.split(r"(\d+)", path.with_suffix("").as_posix())
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


def belonging(owners: list[Path], mates: list[Path]) -> dict[Path, list[Path]]:
    """Return the mates of each owner, such as the texts of each picture, in natural order.

    A mate belongs to the owner that has its name, with the owner's suffix or without, followed by
    a number or not: the nearest name in the mate's folder decides, or else in all folders, where
    the one with the most folders in common is taken. Where several are as near, it is nobody's.
    """
    named: dict[tuple[Callable[[str], str], str], list[Path]] = defaultdict(list)
    for owner in owners:
        for form in (str, same):
            for name in {form(owner.stem), form(owner.name)}:
                named[form, name].append(owner)
    owned = defaultdict(list)
    for mate in sorted(mates, key=natural):
        for owner in _owners(mate, named):
            owned[owner].append(mate)
    return owned


def _owners(mate: Path, named: dict[tuple[Callable[[str], str], str], list[Path]]) -> list[Path]:
    """Return the owners of a mate: none, one, or those that differ in suffix alone."""
    names = [mate.stem]
    while (shorter := ENDING.sub("", names[-1])) != names[-1]:
        names.append(shorter)
    groups = [named.get((form, form(name)), []) for name in names for form in (str, same)]
    beside = [[owner for owner in group if owner.parent == mate.parent] for group in groups]
    nearest = next(filter(None, chain(beside, (_near(mate, group) for group in groups))), [])
    return nearest if len({owner.with_suffix("") for owner in nearest}) == 1 else []


def _near(mate: Path, owners: list[Path]) -> list[Path]:
    """Return the owners that have the most folders in common with a mate."""
    folders = {same(part) for part in mate.parent.parts}
    shared = [len(folders & {same(part) for part in owner.parent.parts}) for owner in owners]
    return [owner for owner, n in zip(owners, shared, strict=True) if n == max(shared)]


def ids(paths: list[Path]) -> dict[Path, str]:
    """Return an id for each path: the path without its suffix, as far as that is unique."""
    bare = {path: legal_id(path.with_suffix("")) for path in paths}
    repeated = Counter(bare.values())
    named: dict[str, Path] = {}
    for path in paths:
        wanted = [bare[path]] if repeated[bare[path]] == 1 else []
        numbered = (f"{legal_id(path)} ({number})" for number in count(2))
        options = chain(wanted, [legal_id(path)], numbered)
        named[next(id for id in options if id not in named and is_file_name(id))] = path
    return {path: id for id, path in named.items()}


def legal_id(path: PurePath) -> str:
    """Return a path as an id may be: composed letters, and nothing that steers a terminal."""
    name = unicodedata.normalize("NFC", path.as_posix())
    signs = ("_" if c == "\\" or unicodedata.category(c) in NOT_IN_NAMES else c for c in name)
    parts = (part.strip() for part in "".join(signs).split("/"))
    name = "/".join(part if part.strip(".") else "_" for part in parts)
    return name.replace(":", "_", 1) if PureWindowsPath(name).drive else name


def words(name: str) -> str:
    """Return what a name says in words; nothing if it is a number of a camera."""
    name = unicodedata.normalize("NFC", name).replace("\u00ad", "")
    signs = (c if unicodedata.category(c)[0] in "LM" or c in JOINERS else " " for c in name)
    parts = [word.strip("".join(JOINERS)) for word in "".join(signs).split()]
    telling = [w for w in parts if (len(w) > 2 or not w.isascii()) and w.lower() not in SERIAL]
    return " ".join(filter(None, parts)) if any(telling) else ""
