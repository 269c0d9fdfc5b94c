"""Folders as people keep them: with links, hidden files, and what systems and storage boxes add."""

import os
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

SYSTEM = {
    *("@eadir", "@tmp", "#recycle", "@recycle", "@recently-snapshot", "#snapshot", "__macosx"),
    *("thumbs.db", "ehthumbs.db", "desktop.ini", "$recycle.bin", "system volume information"),
    *("lost+found", "icon\r"),
}
HIDDEN = "hidden, or of the system"
BROKEN = "links that lead nowhere, or no files"
CLOSED = "folders that cannot be opened; allow it"
NOT_UTF8 = "names that are not UTF-8; rename them"
ROUND = "links to folders that are read already or hold this one"


@dataclass
class Listing:
    """Content of a folder, as paths from it.

    Args:
        files: Sorted.
        left_out: Files and folders by the reason why they are not looked at.
    """

    files: list[Path] = field(default_factory=list)
    left_out: dict[str, list[Path]] = field(default_factory=lambda: defaultdict(list))


def list_files(folder: Path) -> Listing:
    """List the files below a folder; links are followed, each folder is entered once."""
    listing, top = Listing(), folder.resolve()
    entered, folders = {*top.parents}, [Path()]
    links: list[Path] = []
    while folders or links:
        here = folders.pop() if folders else links.pop(0)  # links last: what they hold may be here
        real = (folder / here).resolve()
        if real in entered:
            listing.left_out[ROUND].append(here)
            continue
        entered.add(real)
        try:
            names = sorted(os.listdir(folder / here))
        except OSError:
            listing.left_out[CLOSED].append(here)
            continue
        for name in names:
            path = here / name
            if reason := _reason(name, folder / path):
                listing.left_out[reason].append(path)
            elif not (folder / path).is_dir():
                listing.files.append(path)
            else:
                (links if (folder / path).is_symlink() else folders).append(path)
    listing.files.sort()
    return listing


def _reason(name: str, path: Path) -> str:
    """Return why a file or folder is not looked at; empty if it is."""
    if name.startswith(".") or name.lower() in SYSTEM:
        return HIDDEN
    try:
        name.encode()
    except UnicodeEncodeError:
        return NOT_UTF8
    return "" if path.is_file() or path.is_dir() else BROKEN
