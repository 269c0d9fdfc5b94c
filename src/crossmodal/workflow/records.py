"""Snakemake's records of outputs, carried beside them so that DVC can share both.

DVC versions the output folders but not what Snakemake knows of the files in them: params, code,
checksums, times. So each folder has a `.records.json` with the records of its files and their
SHA-256. After `dvc pull` or `dvc checkout` they are taken over, and Snakemake sees what the machine
that made the files saw. A file that is not the one its record describes is refused.
"""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from crossmodal.config.workflow_files import program
from crossmodal.data.media import SHARDS
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import find, sha256, write_json, write_text
from crossmodal.io.shaped_json import recall
from crossmodal.workflow.carrier import (
    CARRIER,
    Entry,
    Record,
    described,
    home,
    is_name,
    name_of,
    read_carrier,
)
from crossmodal.workflow.snakemake_internals import record_format

OUTPUTS = ("data", "features", "models", "embeddings", "results")
STORE, UNFINISHED = Path(".snakemake/metadata"), Path(".snakemake/incomplete")
SEEN = Path(".snakemake/records-seen.json")
RAW = Path("data/raw")
STAGED = Path(".snakemake/storage")  # copies of what a storage has
UNKNOWN = "no record says how they were made"  # in place of what a job depends on
CLOCK = 1e-3  # seconds; file systems store times less precisely than Snakemake records them
TIMES = TypeAdapter(dict[str, int])


def take_over() -> None:
    """Adopt the records that DVC brought, and restore those that a power cut emptied.

    Their files get the recorded times.

    Raises:
        CrossmodalError: If a file is not the one that its record describes, or records name
            anything but files of their folder.
    """
    seen, carriers = recall(SEEN, TIMES, {}), _carriers()
    wrong = []
    for carrier, stamp in carriers.items():
        new = seen.get(carrier) != stamp
        for name, entry in read_carrier(Path(carrier)).items():
            path, unfinished = described(name), (UNFINISHED / name).exists()
            stored = _stored(name)  # after the marker, which another Snakemake may remove
            if not new and not path.exists():
                continue  # a failed job has removed it, and its record
            current = _is_current(path, entry.record)
            # a record that a killed run did not carry yet is newer than the carried one; one of
            # another time than its file is older, brought back by a power cut
            if not new and not current and stored not in (None, entry.record):
                continue
            if not current and not unfinished:
                if _digest(path) != entry.sha256:
                    if new or stored:  # or it was made anew, and is due since its record is lost
                        wrong.append(path)
                    continue
                _set_time(path, entry.record.endtime)
            if stored != entry.record:
                # outlasts a power cut, which must not bring back the record of an older file
                write_json(STORE / name, entry.record.to_json())
    _refuse(wrong)
    if carriers != seen:
        write_text(SEEN, json.dumps(carriers))
    _set_back_from_the_future()


def doubt(is_output: Callable[[str], bool]) -> list[Path]:
    """Make files due that nothing is known of: Snakemake would take them for up to date.

    They get a record that says so, which no job agrees with. Raw files are as published, whoever
    brought them.

    Args:
        is_output: Whether a rule makes a path.

    Returns:
        The files.
    """
    files = [path for folder in OUTPUTS for path in _files(Path(folder))]
    files += Path().glob(f"data/prepared/*/{SHARDS}")  # the only folders that a job makes
    # in this order: a job that another Snakemake ends meanwhile has its record before no marker
    unfinished = _names(UNFINISHED)
    recorded = {*map(described, [*unfinished, *filter(_stored, _names(STORE))])}
    unknown = [
        path
        for path in files
        if path.name != CARRIER
        and not path.is_relative_to(RAW)
        and path not in recorded
        and is_output(str(path))
    ]
    UNFINISHED.mkdir(parents=True, exist_ok=True)  # or Snakemake takes the records for old ones
    for path in unknown:
        disown(path)
    return unknown


def disown(path: Path) -> None:
    """Make an output due, whatever else is known of it."""
    record = {"params": [UNKNOWN], "endtime": path.stat().st_mtime, "input": None, "rule": None}
    write_json(STORE / name_of(path), record | {"record_format_version": record_format()})


def record_of(path: Path) -> Record:
    """Return what is known of an output: Snakemake's record, or the one that is carried beside it.

    Raises:
        CrossmodalError: If there is none, or `path` is a folder.
    """
    if path.is_dir():
        raise CrossmodalError(f"{path}: is a folder; name a file in it")
    carried = _carried(home(path)).get(name_of(path))
    record = _stored(name_of(path)) or (carried and carried.record)
    if not record or UNKNOWN in (record.params or ()):
        raise CrossmodalError(
            f"{path}: no record says how it was made; `{program()} --cores 8 {path}` makes it"
        )
    return record


def verified(paths: Iterable[Path]) -> dict[str, str]:
    """SHA-256, by path, of the files that a job reads, which must be those of their records.

    What the running workflow has made itself has no record yet; a missing file is left to whoever
    reads it. A staged copy has the path, and the record, of what it is a copy of.

    Raises:
        CrossmodalError: If a file is another one, whatever its time says.
    """
    present = (path for path in dict.fromkeys(paths) if path.is_file())
    digests = {original(path): sha256(path) for path in present}
    carried = {folder: _carried(folder) for folder in {*map(home, digests)}}
    recorded = {path: _recorded(path, carried[home(path)]) for path in digests}
    _refuse([path for path, digest in digests.items() if recorded[path] not in (None, digest)])
    return {str(path): digest for path, digest in digests.items()}


def original(path: Path) -> Path:
    """Return the path from the project's folder of a file, which may be a staged copy."""
    absolute = Path(os.path.abspath(path))
    if absolute.is_relative_to(Path.cwd()):
        path = absolute.relative_to(Path.cwd())
    if not path.is_relative_to(STAGED):
        return path
    # the last of them: a storage's prefix may have any name
    starts = [place for place, part in enumerate(path.parts) if part in OUTPUTS]
    return Path(*path.parts[starts[-1] :]) if starts else path


def _carried(folder: Path) -> dict[str, Entry]:
    """Return the records that a folder carries; those of another project are none of this one."""
    return read_carrier(folder / CARRIER) if any(map(folder.is_relative_to, OUTPUTS)) else {}


def _recorded(path: Path, carried: dict[str, Entry]) -> str | None:
    """Return the SHA-256 of an output, unless it is newer than the carried records."""
    entry = carried.get(name_of(path))
    return entry.sha256 if entry and _stored(name_of(path)) in (None, entry.record) else None


def _refuse(wrong: list[Path]) -> None:
    if wrong:
        raise CrossmodalError(
            f"{', '.join(map(str, wrong))}: changed since it was made (its SHA-256 is not the one "
            f"in {CARRIER} beside it). Delete it to make it again, or to pull it again"
        )


def carry() -> None:
    """Write the records, and the checksums of new files, beside the files they describe."""
    by_folder: dict[Path, dict[str, Record]] = {}
    for name in _names(STORE):
        path, record = described(name), _stored(name)  # none if the file was emptied
        if record and (path.is_file() or path.is_dir()) and path.parts[0] in OUTPUTS:
            by_folder.setdefault(home(path), {})[name] = record
    for folder, records in by_folder.items():
        before = read_carrier(folder / CARRIER)
        entries = {name: _entry(name, r, before.get(name)) for name, r in records.items()}
        if entries != before:
            content = {name: e.model_dump(exclude_unset=True) for name, e in entries.items()}
            # a new file, never through a link into DVC's cache
            write_text(folder / CARRIER, json.dumps(content, indent=1, sort_keys=True) + "\n")
    write_text(SEEN, json.dumps(_carriers()))


def _files(folder: Path) -> list[Path]:
    return [path for path in find(folder, "*") if path.is_file()]


def _names(store: Path) -> list[str]:
    """Return the names of the records in a store, without remains of killed processes."""
    names = (path.relative_to(store).as_posix() for path in _files(store))
    return [name for name in names if is_name(name)]


def _entry(name: str, record: Record, before: Entry | None) -> Entry:
    """Return a record with the checksum of its file, which is read if the record is new."""
    if before and before.record == record:
        return before
    return Entry(record=record, sha256=_digest(described(name)))


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file; of a folder, whose files something lists, that of its names.

    It is empty where there is neither, but a pipe for example.
    """
    if not path.is_dir():
        return sha256(path) if path.is_file() else ""
    sizes = {file.name: file.stat().st_size for file in path.glob("[!.]*")}
    return hashlib.sha256(json.dumps(sizes, sort_keys=True).encode()).hexdigest()


def _is_current(path: Path, record: Record) -> bool:
    """Return whether a file, and a link to it, has the time of its record, or is missing."""
    # another clone that shares DVC's cache may have set the target's time, and not this link's
    return not path.exists() or all(
        abs(status.st_mtime - record.endtime) < CLOCK for status in (path.stat(), path.lstat())
    )


def _set_time(path: Path, seconds: float) -> None:
    # a link into DVC's cache, and its target, which may belong to another user
    for follow in (False, True):
        with contextlib.suppress(PermissionError):
            os.utime(path, (seconds, seconds), follow_symlinks=follow)


def _set_back_from_the_future() -> None:
    """Set the times of outputs that a clock ahead has made to before now, in their order.

    Until then what is made of them, or in place of what they were made of, would be older.
    """
    now = time.time()
    paths = ((name, described(name)) for name in _names(STORE))
    ahead = [(name, path) for name, path in paths if path.exists() and path.stat().st_mtime > now]
    records = {path: r for name, path in ahead if (r := _stored(name)) and _is_current(path, r)}
    times = sorted({record.endtime for record in records.values()}, reverse=True)
    for path, record in records.items():
        record.endtime = now - 2 * CLOCK * (1 + times.index(record.endtime))
        _set_time(path, record.endtime)
        write_json(STORE / name_of(path), record.to_json())


def _stored(name: str) -> Record | None:
    """Snakemake's record; none if there is no file, or a power cut emptied or cut it."""
    try:
        return Record.model_validate_json((STORE / name).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def _carriers() -> dict[str, int]:
    """Return the time of every carrier, by its path."""
    paths = (path for folder in OUTPUTS for path in find(Path(folder), CARRIER))
    return {str(path): path.stat().st_mtime_ns for path in paths}
