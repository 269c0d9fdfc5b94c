"""Fetch the published files of a dataset."""

import shutil
from collections.abc import Collection, Iterable
from functools import partial
from pathlib import Path

from rich.filesize import decimal

from crossmodal.config import plugins
from crossmodal.data.dataset import Source
from crossmodal.data.fetching import MIRROR, attempt, folder_of, try_mirror
from crossmodal.data.page_images import pack_images
from crossmodal.errors import CrossmodalError
from crossmodal.io.first_use import check_or_record


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
    _get(source, f"{source.folder or dataset}/{output.name}", output, sources.values())
    if not source.sha256:
        try:
            check_or_record(name, output)
        except CrossmodalError:
            output.unlink()
            raise


def _get(source: Source, name: str, output: Path, sources: Collection[Source]) -> None:
    """Fetch a file from the mirror, where it is called `name`, or from one of its hosts."""
    failures = try_mirror(name, output)
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


def _attempt(url: str, source: Source, output: Path) -> str:
    """Fetch a file, or the images of a page that make it; the reason if that fails."""
    if source.of_page:
        return attempt(url, Source("page.html"), output, partial(pack_images, address=url))
    return attempt(url, source, output)


def missing(sources: Iterable[Source], raw: Path) -> list[Source]:
    """Return the published files that are not in a dataset's folder `raw`."""
    return [source for source in sources if not (raw / source.file).exists()]


def instructions(sources: Iterable[Source], raw: Path) -> str:
    """Return the files to get by hand, their sources and their folder, a line per file."""
    lines = [
        f"Put into {raw}, or into <mirror>/{raw.name} with {MIRROR} naming <mirror>:",
        *(f"  {s.file}{_facts(s)}: {s.help}" for s in sources),
    ]
    return "\n".join(dict.fromkeys(lines))


def _facts(source: Source) -> str:
    """Return the size of a file, and its folder in a mirror where that is another one."""
    facts = [decimal(source.bytes)] if source.bytes else []
    facts += [f"in a mirror: {source.folder}/"] if source.folder else []
    return f" ({', '.join(facts)})" if facts else ""


def _clear_archives(sources: Collection[Source], folder: Path) -> None:
    """Remove the kept files of which nothing more is needed."""
    wanted = {folder_of(url) for source in missing(sources, folder) for url in source.urls}
    folders = {folder_of(url) for source in sources for url in source.urls}
    for done in folders - wanted:
        shutil.rmtree(done, ignore_errors=True)
