"""The exceptions whose messages are meant for the user."""

import difflib
from collections.abc import Iterable

SHOWN = 20  # names in a message
ENCODERS = 'run `pip install "crossmodal[encoders]"`'  # where one of their packages is missing


class CrossmodalError(Exception):
    """Bad input: the message names the file, key or value and says what to do."""


class DivergenceError(CrossmodalError):
    """Training left the finite numbers: the options do not suit the data."""


def listed(names: Iterable[str]) -> str:
    """Return the first names, and how many there are besides."""
    names = [*names]
    more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return ", ".join([*names[:SHOWN], *more])


def unknown(name: object, known: Iterable[str]) -> str:
    """What to say of a name that is none of those known: which there are, and similar ones."""
    names = sorted(known)
    near = difflib.get_close_matches(str(name), names)
    parts = [f"{name!r} is unknown"]
    if len(names) <= SHOWN or not near:
        parts.append(f"known: {listed(names) or 'none'}")
    if near:
        parts.append(f"did you mean {' or '.join(map(repr, near))}?")
    return "; ".join(parts)
