"""Check params.yaml, and prepared datasets."""

import sys
from collections.abc import Sequence
from pathlib import Path

from crossmodal.config.params import Params, read
from crossmodal.errors import ENCODERS, CrossmodalError, unknown

MOST = 20  # errors in a message


def check(name: str | None, path: Path, overlays: Sequence[Path] = ()) -> None:
    """Check params.yaml, and the prepared dataset of an entry of its `datasets`.

    Prints statistics of the dataset. Images are opened, not decoded: the extraction of features
    detects a truncated one.

    Raises:
        CrossmodalError: If a split has another number of items than declared, an item or an image
            is in two splits, or a file is corrupt.
    """
    params = read(path, *overlays)
    if params.broken:
        entries: dict[str, list[str]] = {}
        for entry, reason in params.broken.items():
            entries.setdefault(reason, []).append(entry)
        lines = (f"{reason}; not usable: {', '.join(used)}" for reason, used in entries.items())
        raise CrossmodalError("\n".join(lines))
    if name is None:
        print(f"{', '.join(map(str, [path, *overlays]))}: fine")
        if without := [feature for feature in params.features if params.lacking(feature)]:
            print(f"to use {', '.join(without)}: {ENCODERS}", file=sys.stderr)
    elif name in params.datasets:
        _check_prepared(params, name)
    else:
        raise CrossmodalError(f"datasets: {unknown(name, params.datasets)}")


def _check_prepared(params: Params, name: str) -> None:
    # these imports read images and clips; to check params.yaml needs none of them
    from rich.console import Console

    from crossmodal.commands.datasets import to_prepare
    from crossmodal.commands.examine import examine
    from crossmodal.data.media import PreparedMedia
    from crossmodal.data.prepared import PREPARED, is_prepared

    if not is_prepared(name):
        raise CrossmodalError(f"{PREPARED / name}: not prepared yet; run {to_prepare(name)}")
    dataset = PreparedMedia(PREPARED / name)
    table, warnings, errors = examine(dataset, params.dataset_of(name).counts())
    Console().print(table)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if errors:
        more = [f"and {len(errors) - MOST} more"] if len(errors) > MOST else []
        raise CrossmodalError("\n  ".join([f"{dataset.folder}:", *errors[:MOST], *more]))
