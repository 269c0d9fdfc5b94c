"""Labels and splits that the names of a user's folders say."""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

SPLIT_OF = {"train": "train", "training": "train", "test": "test", "testing": "test"}
SPLIT_OF |= dict.fromkeys(("val", "valid", "validation", "dev"), "validation")
SPLIT_OF |= {"restval": "train"}  # Karpathy's images of COCO's validation that others train on
SPLIT = re.compile(rf"({'|'.join(SPLIT_OF)})(?:[ _-]?(?:sets?|images?|data|\d+))?", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """Label and split of a file, by its folders.

    Args:
        label: Name of the folder; empty if all files are in one.
        split: 'train', 'validation' or 'test'; empty if no folder says it.
    """

    label: str
    split: str


def places(paths: list[Path]) -> dict[Path, Place]:
    """Return label and split of each path; see `_splits` for which folders are splits."""
    parts = _splits(paths)
    several = len({folders for _, folders in parts.values()}) > 1
    return {
        path: Place(_label(folders[-1]) if several and folders else "", split)
        for path, (split, folders) in parts.items()
    }


def _splits(paths: list[Path]) -> dict[Path, tuple[str, tuple[str, ...]]]:
    """Return the split of each path, and its other folders.

    Where no folder is for training, what is in no folder of a split is. `train` alone, beside
    other folders, is a label like these; a folder of a split that holds all files says nothing.
    """
    parts = {path: split_and_others(path.parent.parts) for path in paths}
    named = {split for split, _ in parts.values()}
    if named == {"train", ""}:
        return {path: ("", path.parent.parts) for path in paths}
    if len(named) < 2:
        return {path: ("", folders) for path, (_, folders) in parts.items()}
    others = "" if "train" in named else "train"
    return {path: (split or others, folders) for path, (split, folders) in parts.items()}


def split_and_others(folders: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the split that the first such folder names, and the other folders."""
    for place, name in enumerate(folders):
        if match := SPLIT.fullmatch(name.strip()):
            return SPLIT_OF[match[1].lower()], (*folders[:place], *folders[place + 1 :])
    return "", folders


def _label(name: str) -> str:
    """Return a folder's name as a label; `;` would separate two."""
    return " ".join(unicodedata.normalize("NFC", name).replace(";", ",").split())
