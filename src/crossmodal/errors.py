"""The exceptions whose messages are meant for the user."""

import difflib
from collections.abc import Iterable

SHOWN = 20  # names in a message
ENCODERS = (
    'run `pip install "crossmodal-retrieval[encoders]"`'  # where one of their packages is missing
)
FORMATS = 'run `pip install "crossmodal-retrieval[formats]"`'  # the same of pyarrow and openpyxl

# what the system and PyTorch say, which each library wraps in an error of its own -> what to do
REMEDIES = {
    "No space left on device": "free some space",
    "Disk quota exceeded": "free some space",
    # NumPy, where a file became shorter than it should be
    " requested and ": "No space left on device: free some space",
    "Read-only file system": "make it writable",
    "Permission denied": "allow it",
    # where an output should be
    "Is a directory": "name a file",
    "Not a directory": "name another folder",
    "File exists": "name another folder",
    "t allocate memory": "give it more memory",
    "Unable to allocate": "give it more memory",
    "AF_UNIX path too long": "let TMPDIR have at most 70 characters",  # sockets of processes
    "does not have a deterministic implementation": "set `deterministic: false` in params.yaml",
}


class CrossmodalError(Exception):
    """Bad input: the message names the file, key or value and says what to do."""


class DivergenceError(CrossmodalError):
    """Training left the finite numbers: the options do not suit the data."""


def listed(names: Iterable[str]) -> str:
    """Return the first names, and how many there are besides."""
    names = [*names]
    more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return ", ".join([*names[:SHOWN], *more])


def unknown(name: object, allowed: Iterable[str]) -> str:
    """Return a message on an unknown name, with the allowed ones and similar ones."""
    names = sorted(allowed)
    near = difflib.get_close_matches(str(name), names)
    parts = [f"{name!r} is unknown"]
    if len(names) <= SHOWN or not near:
        parts.append(f"known: {listed(names) or 'none'}")
    if near:
        parts.append(f"did you mean {' or '.join(map(repr, near))}?")
    return "; ".join(parts)


def explained(error: Exception) -> str:
    """Return the message for the user with what to do; empty where only a traceback helps."""
    if isinstance(error, CrossmodalError):
        return str(error)
    remedy = next((remedy for cause, remedy in REMEDIES.items() if cause in str(error)), None)
    return f"{error}; {remedy} and run the same command again" if remedy else ""
