"""Parts of a feature file: archives of finished chunks, one part of which each job makes.

Layout: a zip archive without compression, of the files of each chunk, called by its first row, and
of `part.json` with all else.
"""

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crossmodal.errors import CrossmodalError, explained
from crossmodal.io.files import DAMAGE, JsonObject, readable, replacing

FACTS = "part.json"
SUFFIXES = (".npy", ".offsets")  # of the files of a chunk


@dataclass(frozen=True)
class Part:
    """All of a part but its values.

    Args:
        ids: Id of each row.
        items: Item of each row.
        chunk: Rows of a chunk.
        meta: As of the feature file.
    """

    ids: list[str]
    items: list[str]
    chunk: int
    meta: JsonObject


def write_part(path: Path, part: Part, chunks: Path) -> None:
    """Write a part atomically, the files of whose chunks are in the folder `chunks`."""
    files = sorted(file for file in chunks.iterdir() if file.suffix in SUFFIXES)
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for file in files:
            archive.write(file, file.name)
        archive.writestr(FACTS, json.dumps(vars(part)))


def unpack_part(path: Path, chunks: Path) -> Part:
    """Unpack the files of a part's chunks into the folder `chunks`, and return all else.

    Raises:
        CrossmodalError: If the file is missing or corrupt.
    """
    try:
        with zipfile.ZipFile(readable(path)) as archive:
            facts = json.loads(archive.read(FACTS))
            archive.extractall(chunks, [name for name in archive.namelist() if name != FACTS])
        return Part(**facts)
    except (*DAMAGE, TypeError) as error:
        if explained(error):
            raise  # a full disk
        raise CrossmodalError(
            f"{path}: corrupt part of a feature ({error}); delete it and run again"
        ) from error


def joined(paths: Sequence[Path], parts: Sequence[Part]) -> Part:
    """Return all rows of some parts, in their order.

    Raises:
        CrossmodalError: If they are not of one feature, computed of the same.
    """
    first = parts[0]
    for path, part in zip(paths, parts, strict=True):
        if differing := _differing(first.meta, part.meta):
            raise CrossmodalError(
                f"{path}: differs from {paths[0]} in {', '.join(differing)}: they were made at "
                "different times, or on machines that compute differently (set `portable: true`); "
                "delete both and run again, or leave `jobs` of the feature out"
            )
    devices = dict.fromkeys(part.meta["made"]["device"] for part in parts)
    provenance = first.meta["made"] | {"device": ", ".join(devices)}
    ids = [id for part in parts for id in part.ids]
    items = [item for part in parts for item in part.items]
    return Part(ids, items, first.chunk, first.meta | {"made": provenance})


def _differing(first: JsonObject, other: JsonObject) -> list[str]:
    """Return the keys of facts, or of `made`, that differ; parts may have different devices."""
    facts = [meta | {"made": meta["made"] | {"device": ""}} for meta in (first, other)]
    keys = sorted({*facts[0], *facts[1]})
    texts = [{key: json.dumps(meta.get(key), sort_keys=True) for key in keys} for meta in facts]
    return [key for key in keys if texts[0][key] != texts[1][key]]
