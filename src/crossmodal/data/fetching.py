"""Fetching of files, from a mirror that keeps their names or from an address."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePath
from urllib.parse import urlsplit

from crossmodal.data.dataset import Source
from crossmodal.errors import CrossmodalError
from crossmodal.io.archives import Archive
from crossmodal.io.checkpoints import FOLDER
from crossmodal.io.downloads import fetch
from crossmodal.io.files import digest, replacing, sha256
from crossmodal.io.locks import lock

MIRROR = "CROSSMODAL_MIRROR"
ARCHIVES = FOLDER / "archives"
MAGIC = {".gz": b"\x1f\x8b", ".tgz": b"\x1f\x8b", ".mat": b"MATLAB"}  # first bytes by suffix


def try_mirror(name: str, output: Path) -> str:
    """Fetch a file from the mirror, if there is one; a line that says why it did not come."""
    mirror = os.environ.get(MIRROR)
    if not mirror:
        return ""
    if "://" in mirror:
        url = f"{mirror.rstrip('/')}/{name}"
        failure = attempt(url, Source(output.name), output)
        if not failure:
            shutil.rmtree(folder_of(url))
    elif (path := Path(mirror) / name).is_file():
        failure = ""
        with writing(output), replacing(output) as temporary:
            _link(path.resolve(), temporary)
    else:
        failure = f"{path}: not in the mirror"
    if failure:
        print(failure, file=sys.stderr, flush=True)
    return failure and f"\n  {failure}"


def _link(path: Path, new: Path) -> None:
    """Give a file a second name, which takes no space; on another file system, copy it."""
    try:
        os.link(path, new)
    except OSError:
        shutil.copyfile(path, new)


def attempt(
    url: str, source: Source, output: Path, place: Callable[[Path, Path], None] | None = None
) -> str:
    """Fetch from one address; the reason if that fails."""
    address, _, member = url.partition("#")
    fetched = Source(PurePath(urlsplit(address).path).name) if member else source
    place = place or partial(_place, source=source, member=member)
    with writing(output):
        try:
            with _fetched(address, fetched) as path:
                place(path, output)
        except CrossmodalError as error:
            return f"{url}: {error}"
    return ""


def folder_of(url: str) -> Path:
    """Return the folder that holds the file of an address until all its members are taken."""
    return ARCHIVES / digest(url.partition("#")[0])


@contextmanager
def _fetched(address: str, source: Source) -> Iterator[Path]:
    """Yield the checked file of an address, for one process at a time; a wrong file is not kept."""
    path = folder_of(address) / source.file
    path.parent.mkdir(parents=True, exist_ok=True)
    # several jobs may need members of one archive at the same time: the first one fetches it
    with lock(path.parent / "lock", f"{path}: waiting for another process that fetches it"):
        if not path.exists():
            fetch(address, path)
        try:
            _verify(path, source)
            yield path
        except CrossmodalError:
            path.unlink(missing_ok=True)  # or the next attempt would find it again
            raise


def _place(path: Path, output: Path, source: Source, member: str) -> None:
    """Make a fetched file, or one member of a fetched archive, the output."""
    with replacing(output) as temporary:
        if not member:
            shutil.move(path, temporary)
            return
        with Archive(path) as archive:
            temporary.write_bytes(archive.read(archive.locate(member)))
        _verify(temporary, source)


@contextmanager
def writing(output: Path) -> Iterator[None]:
    """Report a full disk: another address would not help."""
    try:
        yield
    except OSError as error:
        raise CrossmodalError(
            f"{output}: cannot be written ({error}). Free space and run again: the download "
            f"resumes; what was received is kept in {ARCHIVES}"
        ) from error


def _verify(path: Path, source: Source) -> None:
    if source.sha256 and not (checksum := sha256(path)).startswith(source.sha256):
        raise CrossmodalError(f"checksum is {checksum}, published is {source.sha256}")
    if source.bytes and path.stat().st_size != source.bytes:
        raise CrossmodalError(
            f"{path.stat().st_size} bytes were received, {source.bytes} are published"
        )
    if not source.sha256:
        _check_kind(path)


def _check_kind(path: Path) -> None:
    """Refuse an empty file, a web page in place of the file, and a corrupt archive."""
    with path.open("rb") as stream:
        head = stream.read(512)
    if not head:
        raise CrossmodalError("received an empty file")
    is_page = head.strip().lower().startswith((b"<!doctype html", b"<html"))
    if is_page and path.suffix != ".html":
        raise CrossmodalError("received a web page instead of the file")
    magic = MAGIC.get(path.suffix, b"")
    if not head.startswith(magic):
        raise CrossmodalError(f"received no {path.suffix} file: it begins with {head[:16]!r}")
    if path.name.endswith((".zip", ".tar", ".tar.gz", ".tgz")):
        with Archive(path) as archive:
            for _ in archive.walk(()):
                pass
