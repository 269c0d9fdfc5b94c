"""Names that come from files of others: each is a relative path, and stays in its folder."""

import os
import re
from pathlib import Path, PurePosixPath

from crossmodal.errors import CrossmodalError

LONGEST, LONGEST_PART = 1024, 255  # bytes of a path, and of a part of it: no system takes more
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
DRIVE = re.compile(r"[A-Za-z]:")
# of a repository, whose configuration names programs that `git status` in its folder runs; without
# `.git`, too, a folder is one if it has the folder `refs`, or `commondir` says where that is
GIT = re.compile(r"(?:.*/)?(?:\.git|\.git/.*|refs/.*|commondir)", re.IGNORECASE)


def defect(name: object) -> str:
    """Return why a name is not that of a file below a folder, on any system; empty if it is one."""
    if not isinstance(name, str):
        return "is no text"
    parts = PurePosixPath(name).parts
    if not parts:
        return "names no file"
    if CONTROL.search(name):
        return "has a control character"
    if "\\" in name or DRIVE.match(name):
        return "has a backslash or a drive"
    if parts[0].startswith("/") or ".." in parts:
        return "leads out of its folder"
    if GIT.fullmatch("/".join(parts)):
        return "is that of a repository of git"
    try:
        sizes = [len(os.fsencode(part)) for part in (name, *parts)]
    except UnicodeEncodeError:
        return "is no Unicode"
    return "is too long" if sizes[0] > LONGEST or max(sizes[1:]) > LONGEST_PART else ""


def inside(folder: Path, name: object, source: object) -> Path:
    """Return the path of a file that `source` names in a folder.

    The file itself may be a link, as DVC makes them into its cache; no folder on the way may lead
    out by one.

    Raises:
        CrossmodalError: If the name is no relative path, or leads out of the folder.
    """
    reason = defect(name)
    path = folder if reason else Path(folder, str(name))
    if not reason and path.parent != folder and not _holds(folder, path.parent):
        reason = "leads out of its folder by a link"
    if reason:
        raise CrossmodalError(f"{source}: the name {str(name)[:LONGEST_PART]!r} {reason}")
    return path


def _holds(folder: Path, inner: Path) -> bool:
    return Path(os.path.realpath(inner)).is_relative_to(os.path.realpath(folder))
