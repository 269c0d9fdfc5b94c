"""Checksums beside files of unfinished work, so that damage is seen before they are used."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crossmodal.io.files import replacing, sha256, write_text


@contextmanager
def sealing(path: Path) -> Iterator[Path]:
    """Yield a temporary path that takes the name `path`, and a seal, if the block succeeds."""
    before = _sums(path)
    with replacing(path) as temporary:
        yield temporary
        new = sha256(temporary)
        write_text(_seal(path), "\n".join([new, *before]))  # a kill leaves one of both files
    if before:
        write_text(_seal(path), new)


def seal(path: Path) -> None:
    """Say that a file is finished."""
    write_text(_seal(path), sha256(path))


def is_whole(path: Path) -> bool:
    """Return true if a file is there as it was sealed; a damaged one is set aside and named."""
    sums = _sums(path)
    if not sums or not path.exists():
        return False
    if sha256(path) in sums:
        return True
    aside = path.with_name(f"{path.name}.damaged")
    print(
        f"{path}: damaged, and set aside as {aside.name}; what it held is computed again",
        file=sys.stderr,
        flush=True,
    )
    with suppress(FileNotFoundError):  # another process of the same fit was faster
        path.rename(aside)
    return False


def _seal(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _sums(path: Path) -> list[str]:
    """Return the checksums of which a file must have one, none if it was never sealed."""
    try:
        return _seal(path).read_text(encoding="utf-8", errors="replace").split() or ["damaged"]
    except FileNotFoundError:
        return []
