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
from pathlib import Path
from typing import Any

from crossmodal.errors import CrossmodalError
from crossmodal.files import sha256, write_text

OUTPUTS = ("data", "features", "models", "embeddings", "results")
CARRIER = ".records.json"
STORE, UNFINISHED = Path(".snakemake/metadata"), Path(".snakemake/incomplete")
SEEN = Path(".snakemake/records-seen.json")
CLOCK = 1e-3  # seconds; file systems keep less of a time than Snakemake notes


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
    if wrong:
        raise CrossmodalError(
            f"{', '.join(map(str, wrong))}: changed since it was made (its SHA-256 is not the one "
            f"in {CARRIER} beside it). Delete it to make it again, or to pull it again"
        )
    if carriers != known:
        _note_seen(carriers)


def carry() -> None:
    """Write the records, and the checksums of new files, beside the files they describe."""
    by_folder: dict[Path, dict[str, Any]] = {}
    for stored in filter(Path.is_file, STORE.rglob("*")):
        name = str(stored.relative_to(STORE))
        path = Path(described(name))
        if path.exists() and path.parts[0] in OUTPUTS:
            by_folder.setdefault(_home(path), {})[name] = json.loads(stored.read_text())
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
    """Whether a file, and a link to it, has the time of its record; one that is not there cannot be
    wrong.
    """
    # another clone that shares DVC's cache may have set the target's time, and not this link's
    return not path.exists() or all(
        abs(status.st_mtime - record["endtime"]) < CLOCK for status in (path.stat(), path.lstat())
    )


def _set_time(path: Path, time: float) -> None:
    # a link into DVC's cache, and its target, which may belong to somebody else
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
        return json.loads(carrier.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise CrossmodalError(f"{carrier}: {error}; delete it, or pull it again") from error


def _carriers() -> dict[str, int]:
    """Time of every carrier, by its path."""
    found = (path for folder in OUTPUTS for path in Path(folder).rglob(CARRIER))
    return {str(path): path.stat().st_mtime_ns for path in found}


def _seen() -> dict[str, int]:
    """The carriers that were taken over or written here."""
    return json.loads(SEEN.read_text()) if SEEN.exists() else {}


def _note_seen(carriers: dict[str, int]) -> None:
    SEEN.parent.mkdir(exist_ok=True)
    write_text(SEEN, json.dumps(carriers))
