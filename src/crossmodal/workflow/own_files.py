"""Digests of the user's own files, kept in the project: a new time alone runs nothing."""

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pydantic import TypeAdapter

from crossmodal.io.files import digest, sha256, write_text
from crossmodal.io.shaped_json import recall

KEPT = Path(".snakemake/own-files.json")

Seen = tuple[int, int, str]  # size, time in nanoseconds, SHA-256
DIGESTS = TypeAdapter(dict[str, Seen])


def content(files: Iterable[Path]) -> str:
    """Return a hash of names and contents; files of the kept size and time are not read again.

    Raises:
        CrossmodalError: If this user may not read a file.
    """
    digests = recall(KEPT, DIGESTS, {})
    seen = {str(path): _look(path, digests.get(str(path))) for path in files}
    if not seen.items() <= digests.items():
        with suppress(OSError):  # in a folder of somebody else, all are read each time
            write_text(KEPT, json.dumps(digests | seen))
    return digest(*((name, sha) for name, (*_, sha) in seen.items()))


def _look(path: Path, before: Seen | None) -> Seen:
    """Return size, time and SHA-256 of a file, the last as before if the others are."""
    status = path.stat()
    stamp = status.st_size, status.st_mtime_ns
    return before if before and before[:2] == stamp else (*stamp, sha256(path))
