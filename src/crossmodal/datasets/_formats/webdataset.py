"""WebDataset's shards, and what img2dataset writes: files of one name are a sample.

A shard is a tar file without compression, or a folder of img2dataset's.
"""

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path, PurePosixPath

from crossmodal.datasets._formats.column_names import meant, parts
from crossmodal.datasets._formats.item_records import Member, Record, split_in
from crossmodal.datasets._formats.json_lines import json_of
from crossmodal.errors import CrossmodalError
from crossmodal.io.extents import Extent
from crossmodal.io.progress import track
from crossmodal.io.spreadsheets import Findings, RowError
from crossmodal.io.suffixes import SUFFIXES
from crossmodal.io.tar_extents import tar_extents

KIND = "WebDataset"
TARS = (".tar", ".tgz", ".gz", ".zst", ".xz", ".bz2")
STATS = "_stats.json"  # ends the names of img2dataset's reports
TEXTS, MEDIA = (".json", ".txt", ".caption", ".cls"), ("image", "speech")
LONGEST_TEXT = 1 << 24  # bytes

Placed = tuple[str, Extent]  # name in the shard, and where it lies


def shards(files: list[Path]) -> list[Path]:
    """Return tar files, or else the folders of img2dataset."""
    tars = [file for file in files if file.suffix.lower() in TARS and ".tar" in file.name.lower()]
    folders = {Path(str(f)[: -len(STATS)]) for f in files if f.name.endswith(STATS)}
    return tars or sorted(folder for folder in folders if folder.is_dir())


def downloads(files: list[Path]) -> tuple[int, int]:
    """Return how many downloads img2dataset reports, and how many of them failed."""
    count = failed = 0
    for file in files:
        if file.name.endswith(STATS):
            try:
                report = json.loads(file.read_bytes())
                count += int(report["count"])
                failed += int(report["count"]) - int(report["successes"])
            except (ValueError, LookupError, TypeError):  # a report of something else
                continue
    return count, failed


def shard_records(shards: list[Path], folder: Path, bad: Findings) -> Iterator[Record]:
    """Yield a record of each sample; the shard's name or folder says the split.

    The id is the sample's key, after the shard's name where an earlier shard has the same key.
    """
    first: dict[str, Path] = {}
    for shard in track(shards, len(shards), f"read the shards of {folder}"):
        beside = shard.relative_to(folder)
        split, number, here = split_in(beside), 0, set()
        try:
            for key, files in groupby(_files(shard, bad), key=lambda file: _parts(file[0])[0]):
                number += 1
                with bad.collect():
                    if key in here:
                        reason = f": the files of sample {key!r} are not beside each other"
                        raise RowError(shard, number, reason)
                    here.add(key)
                    own = first.setdefault(key, shard) == shard
                    id = key if own else (beside.with_suffix("") / key).as_posix()
                    by_ending = _by_ending(files)
                    stated = _sample(shard, number, beside, by_ending)
                    unread = tuple(ending for ending in by_ending if not _is_read(ending))
                    yield Record(shard, number, {"id": id, "split": split, **stated}, unread)
        except CrossmodalError as error:
            bad.errors.append(RowError(shard, number + 1, f": {error}"))


def _files(shard: Path, bad: Findings) -> Iterator[Placed]:
    if shard.is_dir():
        for path in sorted(shard.iterdir()):
            if path.is_file():
                yield path.name, Extent(path, 0, path.stat().st_size)
        return
    for name, extent, fault in tar_extents(shard):
        if fault:
            bad.errors.append(RowError(shard, 0, f": {name[:80]!r}: {fault}"))
        elif not PurePosixPath(name).name.startswith("."):
            yield name, extent


def _parts(name: str) -> tuple[str, str]:
    """Return key and ending of a file: what is before and after the first dot of its name."""
    path = PurePosixPath(name)
    stem, _, ending = path.name.partition(".")
    return (path.parent / stem).as_posix(), f".{ending.lower()}"


def _by_ending(files: Iterator[Placed]) -> dict[str, Placed]:
    """Return the files of a sample, the first of each ending."""
    first: dict[str, Placed] = {}
    for name, extent in files:
        first.setdefault(_parts(name)[1], (name, extent))
    return first


def _is_read(ending: str) -> bool:
    return ending in TEXTS or any(ending in SUFFIXES[part] for part in MEDIA)


def _sample(
    shard: Path, number: int, beside: Path, by_ending: dict[str, Placed]
) -> dict[str, object]:
    """Return what the files of a sample say: picture, sound, text, label and what is in JSON.

    Raises:
        RowError: If a text or JSON cannot be read.
    """
    values: dict[str, object] = {}
    if ".json" in by_ending:
        stated = json_of(_text(shard, number, by_ending[".json"]), shard, number)
        every = parts(stated, meant(stated)) if isinstance(stated, dict) else {"text": stated}
        values = {part: every[part] for part in ("text", "labels", "split") if every.get(part)}
    for part, ending in (("labels", ".cls"), ("text", ".txt"), ("text", ".caption")):
        if ending in by_ending:
            values[part] = _text(shard, number, by_ending[ending]).splitlines()
    for part in MEDIA:
        place = next((by_ending[ending] for ending in by_ending if ending in SUFFIXES[part]), None)
        if place:
            values[part] = Member((beside / place[0]).as_posix(), place[1])
    return values


def _text(shard: Path, number: int, place: Placed) -> str:
    name, extent = place
    if extent.size > LONGEST_TEXT:
        raise RowError(shard, number, f": {name!r} has {extent.size:,} bytes, too many for a text")
    try:
        return extent.read().decode("utf-8-sig")
    except ValueError as error:
        raise RowError(shard, number, f": {name!r} is not UTF-8") from error
