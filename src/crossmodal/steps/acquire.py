"""Fetch published files: from their host, or from a mirror that keeps the file names."""

import fcntl
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePath
from typing import get_args
from urllib.parse import urlsplit

from rich.filesize import decimal

from crossmodal import plugins
from crossmodal.archives import Archive
from crossmodal.checkpoints import FOLDER
from crossmodal.datasets.base import Source
from crossmodal.downloads import fetch
from crossmodal.errors import CrossmodalError
from crossmodal.files import digest, replacing, sha256

MIRROR = "CROSSMODAL_MIRROR"
ARCHIVES = FOLDER / "archives"
MAGIC = {".gz": b"\x1f\x8b", ".tgz": b"\x1f\x8b", ".mat": b"MATLAB"}  # first bytes by suffix


def download(dataset: str, output: Path) -> None:
    """Fetch one file of a dataset to `output`, which has the official file name.

    A file from its host must have the declared checksum; a mirror answers for its own files.

    Raises:
        CrossmodalError: If no address works, or the file is not the published one.
    """
    sources = {source.file: source for source in plugins.load("datasets", dataset).sources}
    if output.name not in sources:
        raise CrossmodalError(f"{dataset}: no file {output.name!r}; it has: {', '.join(sources)}")
    source = sources[output.name]
    if mirror := os.environ.get(MIRROR):
        _fetch_from_mirror(mirror, f"{dataset}/{source.file}", output, source.help)
        return
    failures = ""
    for url in source.urls:
        if not (failure := _attempt(url, source, output)):
            _clear_archives(sources.values(), output.parent)
            return
        failures += f"\n  {failure}"
    by_hand = [source, *(s for s in missing(sources.values(), output.parent) if not s.urls)]
    raise CrossmodalError(
        f"{output}: could not be fetched.{failures}\n{instructions(by_hand, output.parent)}"
    )


def missing(sources: Iterable[Source], raw: Path) -> list[Source]:
    """The published files that are not in a dataset's folder `raw`."""
    return [source for source in sources if not (raw / source.file).exists()]


def instructions(sources: Iterable[Source], raw: Path) -> str:
    """What to get by hand, where, and which folder to put it in: one line per file."""
    lines = [
        f"Put into {raw}, or into <mirror>/{raw.name} with {MIRROR} naming <mirror>:",
        *(f"  {s.file}{f' ({decimal(s.bytes)})' if s.bytes else ''}: {s.help}" for s in sources),
    ]
    return "\n".join(dict.fromkeys(lines))


def fetch_weights(output: Path) -> None:
    """Fetch pretrained weights to `output`; the official ones are converted to safetensors.

    Raises:
        CrossmodalError: If the file is neither official nor in the mirror.
    """
    if mirror := os.environ.get(MIRROR):
        _fetch_from_mirror(mirror, f"weights/{output.name}", output)
        return
    from crossmodal.backbones import Name, convert, official_weights

    official = {file: url for url, file in map(official_weights, get_args(Name))}
    if output.name not in official:
        raise CrossmodalError(
            f"{output}: no such weights. Put your file there, or in a mirror at "
            f"<mirror>/weights/{output.name} and set {MIRROR}; official: {', '.join(official)}"
        )
    url = official[output.name]
    path = PurePath(url)  # the name ends in the first digits of the checksum
    source = Source(path.name, (url,), path.stem.rpartition("-")[2])
    if failure := _attempt(url, source, output, convert):
        raise CrossmodalError(
            f"{failure}; put the weights as safetensors at {output}, or set {MIRROR}"
        )
    shutil.rmtree(_folder(url))


def _fetch_from_mirror(mirror: str, name: str, output: Path, help: str = "") -> None:
    advice = f"add it to the mirror, or unset {MIRROR}. {help}".rstrip()
    if "://" in mirror:
        url = f"{mirror.rstrip('/')}/{name}"
        if failure := _attempt(url, Source(output.name), output):
            raise CrossmodalError(f"{failure}; {advice}")
        shutil.rmtree(_folder(url))
    elif (path := Path(mirror) / name).is_file():
        with _writing(output), replacing(output) as temporary:
            shutil.copyfile(path, temporary)
    else:
        raise CrossmodalError(f"{path}: not in the mirror; {advice}")


def _attempt(
    url: str, source: Source, output: Path, place: Callable[[Path, Path], None] | None = None
) -> str:
    """Fetch from one address; the reason if that fails."""
    address, _, member = url.partition("#")
    fetched = Source(PurePath(urlsplit(address).path).name) if member else source
    place = place or partial(_place, source=source, member=member)
    with _writing(output):
        try:
            with _fetched(address, fetched) as path:
                place(path, output)
        except CrossmodalError as error:
            return f"{url}: {error}"
    return ""


def _folder(url: str) -> Path:
    """Where the file of an address is kept, until it is whole and nothing more is wanted of it."""
    return ARCHIVES / digest(url.partition("#")[0])


def _clear_archives(sources: Collection[Source], folder: Path) -> None:
    """Remove what is kept of addresses of which every file has come."""
    wanted = {_folder(url) for source in missing(sources, folder) for url in source.urls}
    known = {_folder(url) for source in sources for url in source.urls}
    for done in known - wanted:
        shutil.rmtree(done, ignore_errors=True)


@contextmanager
def _fetched(address: str, source: Source) -> Iterator[Path]:
    """The checked file of an address, for one process at a time; a wrong file is not kept."""
    path = _folder(address) / source.file
    path.parent.mkdir(parents=True, exist_ok=True)
    # several members of an archive may be wanted at the same time: the first comer fetches it
    with (path.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
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
def _writing(output: Path) -> Iterator[None]:
    """Tell of a full disk: no other address would help."""
    try:
        yield
    except OSError as error:
        raise CrossmodalError(
            f"{output}: cannot be written ({error}). Make room and run again: it goes on with what "
            f"has come, which is kept in {ARCHIVES}"
        ) from error


def _verify(path: Path, source: Source) -> None:
    if source.sha256 and not (found := sha256(path)).startswith(source.sha256):
        raise CrossmodalError(f"checksum is {found}, published is {source.sha256}")
    if source.bytes and path.stat().st_size != source.bytes:
        raise CrossmodalError(f"{path.stat().st_size} bytes came, {source.bytes} are published")
    if not source.sha256:
        _check_kind(path)


def _check_kind(path: Path) -> None:
    """Refuse nothing and a web page in place of a file, and an archive that is not whole."""
    with path.open("rb") as stream:
        head = stream.read(512)
    if not head:
        raise CrossmodalError("an empty file came")
    if head.strip().lower().startswith((b"<!doctype html", b"<html")):
        raise CrossmodalError("a web page came, not the file")
    magic = MAGIC.get(path.suffix, b"")
    if not head.startswith(magic):
        raise CrossmodalError(f"no {path.suffix} file came; it begins with {head[:16]!r}")
    if path.name.endswith((".zip", ".tar", ".tar.gz", ".tgz")):
        with Archive(path) as archive:
            for _ in archive.walk(()):
                pass
