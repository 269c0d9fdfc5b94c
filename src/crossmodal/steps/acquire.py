"""Fetch published files: from their host, or from a mirror that keeps the file names."""

import fcntl
import os
import shutil
import sys
from pathlib import Path
from typing import get_args

from crossmodal import plugins
from crossmodal.archives import Archive
from crossmodal.checkpoints import FOLDER
from crossmodal.datasets.base import Source
from crossmodal.errors import CrossmodalError
from crossmodal.files import digest, replacing, sha256

MIRROR = "CROSSMODAL_MIRROR"
ARCHIVES = FOLDER / "archives"


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
        _fetch_from_mirror(mirror, f"{dataset}/{source.file}", output)
        return
    failures = ""
    for url in source.urls:
        failure = _attempt(url, source, output)
        if not failure:
            return
        failures += f"\n  {failure}"
    raise CrossmodalError(
        f"{output}: could not be fetched.{failures}\n  {source.help} Put it at {output}, "
        f"or in a mirror at <mirror>/{dataset}/{source.file} and set {MIRROR}."
    )


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
    convert(official[output.name], output)


def _fetch_from_mirror(mirror: str, name: str, output: Path) -> None:
    with replacing(output) as temporary:
        if "://" in mirror:
            _retrieve(f"{mirror.rstrip('/')}/{name}", temporary)
        elif (path := Path(mirror) / name).is_file():
            shutil.copyfile(path, temporary)
        else:
            raise CrossmodalError(f"{path}: not in the mirror; add it, or unset {MIRROR}")


def _attempt(url: str, source: Source, output: Path) -> str:
    """Fetch from one address; the reason if that fails."""
    try:
        with replacing(output) as temporary:
            _retrieve(url, temporary)
            _verify(temporary, source)
    except CrossmodalError as error:
        _archive(url).unlink(missing_ok=True)  # or the next attempt would find it again
        return f"{url}: {error}"
    return ""


def _archive(url: str) -> Path:
    """Where the archive of `<archive>#<member>` is kept for its other members."""
    address = url.partition("#")[0]
    return ARCHIVES / digest(address) / Path(address).name


def _retrieve(url: str, path: Path) -> None:
    """Fetch a file, or with `<archive>#<member>` one member of an archive."""
    address, _, member = url.partition("#")
    if not member:
        _get(address, path)
        return
    archive = _archive(url)
    archive.parent.mkdir(parents=True, exist_ok=True)
    # several members may be wanted at the same time: the first comer fetches the archive
    with (archive.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            with replacing(archive) as temporary:
                _get(address, temporary)
    with Archive(archive) as opened:
        path.write_bytes(opened.read(opened.locate(member)))


def _get(url: str, path: Path) -> None:
    import pooch
    import requests

    try:
        pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=60)(url, str(path), None)
    except (requests.RequestException, OSError, ValueError) as error:
        raise CrossmodalError(str(error)) from error


def _verify(path: Path, source: Source) -> None:
    found = sha256(path)
    if source.sha256 and found != source.sha256:
        raise CrossmodalError(f"checksum is {found}, published is {source.sha256}")
    if source.bytes and path.stat().st_size != source.bytes:
        raise CrossmodalError(f"{path.stat().st_size} bytes came, {source.bytes} are published")
