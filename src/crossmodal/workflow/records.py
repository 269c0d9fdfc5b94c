"""Snakemake's records of outputs, carried beside them so that DVC can share both.

DVC versions the output folders but not what Snakemake knows of the files in them: params, code,
checksums, times. So each folder has a `.records.json` with the records of its files and their
SHA-256. After `dvc pull` or `dvc checkout` they are taken over, and Snakemake sees what the machine
that made the files saw. A file that is not the one its record describes is refused.
"""

import base64
import contextlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import find, sha256, write_json, write_text

OUTPUTS = ("data", "features", "models", "embeddings", "results")
CARRIER = ".records.json"
STORE, UNFINISHED = Path(".snakemake/metadata"), Path(".snakemake/incomplete")
SEEN = Path(".snakemake/records-seen.json")
RAW = Path("data/raw")
PART = 254  # characters of a name that Snakemake puts into one part of a path
UNKNOWN = "no record says how they were made"  # in place of what a job depends on
CLOCK = 1e-3  # seconds; file systems store times less precisely than Snakemake records them


def take_over() -> None:
    """Adopt the records that DVC brought, and give their files the recorded times.

    Raises:
        CrossmodalError: If a file is not the one that its record describes.
    """
    known, carriers = _seen(), _carriers()
    wrong = []
    for carrier, stamp in carriers.items():
        new = known.get(carrier) != stamp
        for name, entry in _read(Path(carrier)).items():
            path, record = Path(described(name)), entry["record"]
            # a record that a killed run did not carry yet is newer than the carried one
            if not new and _stored(name) != record:
                continue
            if not _is_current(path, record) and not (UNFINISHED / name).exists():
                if sha256(path) != entry["sha256"]:
                    wrong.append(path)
                    continue
                _set_time(path, record["endtime"])
            if new:
                # not safe against a kill in between, but then the next start writes it again
                (STORE / name).parent.mkdir(parents=True, exist_ok=True)
                (STORE / name).write_text(json.dumps(record), encoding="utf-8")
    _refuse(wrong)
    if carriers != known:
        _note_seen(carriers)


def doubt(is_output: Callable[[str], bool]) -> list[Path]:
    """Make files due that nothing is known of: Snakemake would take them for up to date.

    They get a record that says so, which no job agrees with. Raw files are as published, whoever
    brought them.

    Args:
        is_output: Whether a rule makes a path.

    Returns:
        The files.
    """
    known = {described(str(p.relative_to(s))) for s in (STORE, UNFINISHED) for p in _files(s)}
    made = (path for folder in OUTPUTS for path in _files(Path(folder)))
    unknown = [
        path
        for path in made
        if path.name != CARRIER
        and not path.is_relative_to(RAW)
        and str(path) not in known
        and is_output(str(path))
    ]
    UNFINISHED.mkdir(parents=True, exist_ok=True)  # or Snakemake takes the records for old ones
    for path in unknown:
        disown(path)
    return unknown


def disown(path: Path) -> None:
    """Make an output due, whatever else is known of it."""
    from snakemake.persistence import RECORD_FORMAT_VERSION

    time = path.stat().st_mtime
    record = {"params": [UNKNOWN], "endtime": time, "input": None, "rule": None}
    stored = STORE / _name(path)
    stored.parent.mkdir(parents=True, exist_ok=True)
    write_json(stored, record | {"record_format_version": RECORD_FORMAT_VERSION})


def record_of(path: Path) -> dict[str, Any]:
    """What is known of an output: Snakemake's record, or the one that is carried beside it.

    Raises:
        CrossmodalError: If there is none.
    """
    name = _name(path)
    record = _stored(name) or _read(_home(path) / CARRIER).get(name, {}).get("record")
    if not record or UNKNOWN in record["params"]:
        raise CrossmodalError(
            f"{path}: no record says how it was made; `snakemake --cores 8 {path}` makes it"
        )
    return record


def verified(paths: Iterable[Path]) -> dict[str, str]:
    """SHA-256, by path, of the files that a job reads, which must be those of their records.

    What the running workflow has made itself has no record yet; a missing file is left to whoever
    reads it.

    Raises:
        CrossmodalError: If a file is another one, whatever its time says.
    """
    found = {path: sha256(path) for path in dict.fromkeys(paths) if path.is_file()}
    _refuse([path for path, digest in found.items() if _recorded(path) not in (None, digest)])
    return {str(path): digest for path, digest in found.items()}


def _recorded(path: Path) -> str | None:
    """SHA-256 of an output, unless it was made anew since the records were carried."""
    name = _name(path)
    entry = _read(_home(path) / CARRIER).get(name)
    return entry["sha256"] if entry and _stored(name) in (None, entry["record"]) else None


def _refuse(wrong: list[Path]) -> None:
    if wrong:
        raise CrossmodalError(
            f"{', '.join(map(str, wrong))}: changed since it was made (its SHA-256 is not the one "
            f"in {CARRIER} beside it). Delete it to make it again, or to pull it again"
        )


def carry() -> None:
    """Write the records, and the checksums of new files, beside the files they describe."""
    by_folder: dict[Path, dict[str, Any]] = {}
    for stored in _files(STORE):
        name = str(stored.relative_to(STORE))
        path = Path(described(name))
        record = _stored(name)  # none if the file was emptied
        if record and path.exists() and path.parts[0] in OUTPUTS:
            by_folder.setdefault(_home(path), {})[name] = record
    for folder, records in by_folder.items():
        before = _read(folder / CARRIER)
        entries = {name: _entry(name, r, before.get(name)) for name, r in records.items()}
        if entries != before:
            # a new file, never through a link into DVC's cache
            write_text(folder / CARRIER, json.dumps(entries, indent=1, sort_keys=True) + "\n")
    _note_seen(_carriers())


def described(name: str) -> str:
    """The output that a record describes: Snakemake names records by the base64 of its path."""
    parts = (part.removeprefix("@") for part in Path(name).parts)
    return base64.urlsafe_b64decode("".join(parts)).decode()


def _name(path: Path) -> str:
    """Name of an output's record, the inverse of `described`."""
    code = base64.urlsafe_b64encode(str(path).encode()).decode()
    parts = [code[start : start + PART] for start in range(0, len(code), PART)]
    return "/".join([*(f"@{part}" for part in parts[:-1]), parts[-1]])


def _files(folder: Path) -> list[Path]:
    return [path for path in find(folder, "*") if path.is_file()]


def _home(path: Path) -> Path:
    """Folder of the carrier: the file's own, but `dvc plots` reads all files of a folder of curves,
    so results have one carrier for each kind.
    """
    return path.parents[-3] if path.parts[0] == "results" and len(path.parts) > 2 else path.parent


def _entry(name: str, record: dict[str, Any], before: dict[str, Any] | None) -> dict[str, Any]:
    """A record with the checksum of its file, which is read only if the record is new."""
    if before and before["record"] == record:
        return before
    return {"record": record, "sha256": sha256(Path(described(name)))}


def _is_current(path: Path, record: dict[str, Any]) -> bool:
    """Whether a file, and a link to it, has the time of its record; a missing file counts as
    current.
    """
    # another clone that shares DVC's cache may have set the target's time, and not this link's
    return not path.exists() or all(
        abs(status.st_mtime - record["endtime"]) < CLOCK for status in (path.stat(), path.lstat())
    )


def _set_time(path: Path, time: float) -> None:
    # a link into DVC's cache, and its target, which may belong to another user
    for follow in (False, True):
        with contextlib.suppress(PermissionError):
            os.utime(path, (time, time), follow_symlinks=follow)


def _stored(name: str) -> dict[str, Any] | None:
    try:
        return json.loads((STORE / name).read_text())
    except (FileNotFoundError, ValueError):
        return None


def _read(carrier: Path) -> dict[str, Any]:
    """Entries of a carrier; none if there is no such file."""
    try:
        entries = json.loads(carrier.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise CrossmodalError(f"{carrier}: {error}; delete it, or pull it again") from error
    if not isinstance(entries, dict):
        raise CrossmodalError(f"{carrier}: holds no records; delete it, or pull it again")
    return entries


def _carriers() -> dict[str, int]:
    """Time of every carrier, by its path."""
    found = (path for folder in OUTPUTS for path in find(Path(folder), CARRIER))
    return {str(path): path.stat().st_mtime_ns for path in found}


def _seen() -> dict[str, int]:
    """The carriers that were taken over or written here."""
    return _read(SEEN)


def _note_seen(carriers: dict[str, int]) -> None:
    SEEN.parent.mkdir(exist_ok=True)
    write_text(SEEN, json.dumps(carriers))
