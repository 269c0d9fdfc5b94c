"""Remove the published files of a prepared dataset."""

import os
from collections.abc import Sequence
from pathlib import Path

from rich.filesize import decimal

from crossmodal.commands.datasets import RAW, is_mirrored, to_prepare
from crossmodal.commands.examine import examine
from crossmodal.config.params import Params, read
from crossmodal.data.dataset import Source
from crossmodal.data.fetching import MIRROR
from crossmodal.data.media import PreparedMedia
from crossmodal.data.prepared import FILES, PREPARED, is_prepared
from crossmodal.errors import CrossmodalError, unknown
from crossmodal.workflow.records import record_of, verified


def clean_raw(name: str, path: Path, overlays: Sequence[Path] = ()) -> None:
    """Remove a dataset's published files; a job that needs them downloads them again.

    Files without a URL and without a mirror stay, since they could not be downloaded.

    Args:
        name: Key of `datasets`.
        path: params.yaml.
        overlays: Files laid over it.

    Raises:
        CrossmodalError: If the dataset is unknown or not prepared, or its prepared files are not
            those of the workflow. Then nothing is removed.
    """
    params = read(path, *overlays)
    if name not in params.usable("datasets"):
        raise CrossmodalError(f"datasets: {unknown(name, params.usable('datasets'))}")
    _refuse_unsound(params, name)
    raw, freed = RAW / params.plugin("datasets", name)["plugin"], 0
    mirror = os.environ.get(MIRROR) or params.mirror
    for source in params.dataset_of(name).sources:
        file = raw / source.file
        if not file.exists():
            continue
        if not _is_downloadable(source, raw, mirror):
            print(f"{file}: not removed, since it has no URL and no mirror; remove it yourself")
            continue
        freed += file.stat().st_size
        file.unlink()
    print(f"{raw}: {decimal(freed)} removed; {name} stays prepared")
    for other in _sharing(params, name):
        print(f"{other}: needs the same files; its preparation downloads them again")


def _refuse_unsound(params: Params, name: str) -> None:
    """Refuse a dataset whose prepared files are incomplete, unknown, changed or corrupt."""
    folder = PREPARED / name
    if not is_prepared(name):
        raise CrossmodalError(f"{folder}: not prepared yet; run {to_prepare(name)}")
    files = [folder / file for file in FILES]
    for file in files:
        record_of(file)
    verified(files)
    _, _, errors = examine(PreparedMedia(folder), params.dataset_of(name).counts())
    if errors:
        raise CrossmodalError(f"{folder}: {errors[0]}; nothing was removed; prepare it again")


def _is_downloadable(source: Source, raw: Path, mirror: str | None) -> bool:
    return bool(source.urls) or is_mirrored(mirror, raw.name, source)


def _sharing(params: Params, name: str) -> list[str]:
    """Return the other datasets of the same plug-in that are not prepared yet."""
    plugin = params.plugin("datasets", name)["plugin"]
    return [
        other
        for other in params.usable("datasets")
        if params.plugin("datasets", other)["plugin"] == plugin and not is_prepared(other)
    ]
