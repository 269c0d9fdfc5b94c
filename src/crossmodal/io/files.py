"""Files that are either complete or absent."""

import csv
import errno
import hashlib
import json
import lzma
import os
import shutil
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from crossmodal.errors import CrossmodalError
from crossmodal.io.locks import take

JsonObject = dict[str, Any]  # as it is read: who takes a value out of it checks it

LONGEST_FIELD = 10_000_000  # characters of a field of a CSV
csv.field_size_limit(1 << 30)  # the default is 131,072, and its error names no row
UNFINISHED = ".unfinished-"  # begins the names of hidden folders with what is being written
# what the parsers of archives and images raise on corrupt, encrypted or forged archives
DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    RuntimeError,
    OverflowError,
    MemoryError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path that takes the name `path` only if the block succeeds.

    The temporary is in a hidden folder beside `path`, so on the same file system; DVC and git
    ignore such folders. The file gets the rights that the umask leaves a new one.
    """
    path = Path(path)
    _make_folder(path.parent)
    folder, lock = _reserve(path.parent)
    with lock:
        try:
            temporary = folder / f"new.{path.name}"
            yield temporary
            # a mirror's file keeps its rights; safetensors writes for the owner alone
            if temporary.stat().st_nlink == 1:
                temporary.chmod(os.fstat(lock.fileno()).st_mode)
            replace(temporary, path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # another process may be at it, too


def replace(new: Path, path: Path) -> None:
    """Give a finished file its name; after a power cut it is there as a whole, or not yet."""
    sync(new)
    new.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, would outlast a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # of folders, on some network file systems
            raise
    finally:
        os.close(handle)


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it, whose names outlast a power cut too."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync(folder.parent)


def _reserve(parent: Path) -> tuple[Path, IO[str]]:
    """Return a new hidden folder and its lock, held until it is closed, whatever closes it."""
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=UNFINISHED))
        # until it is locked, another process may take it for left behind, and remove it
        with suppress(FileNotFoundError):
            lock = (folder / "lock").open("w")
            take(lock, wait=True)
            if os.path.samestat(os.fstat(lock.fileno()), (folder / "lock").stat()):
                return folder, lock


def remove_unfinished(folder: Path) -> None:
    """Remove what killed processes were writing below a folder; others still hold their locks."""
    for path in find(folder, f"{UNFINISHED}*"):
        with suppress(OSError), (path / "lock").open("a") as lock:
            if take(lock, wait=False):  # without locks, nobody can tell that it may be removed
                shutil.rmtree(path)


def unlink_shared(path: Path) -> None:
    """Remove a name if it is a link, so that what is written under it goes into no other file."""
    with suppress(FileNotFoundError):
        if path.is_symlink() or path.stat().st_nlink > 1:
            path.unlink()


def find(folder: Path, pattern: str) -> list[Path]:
    """Return paths below a folder, hidden ones too, while other processes make and remove some.

    Links to folders are followed; each folder is entered once, under its own name if it has one.
    """
    folders, links, paths = [folder], list[Path](), list[Path]()
    entered = set[str]()
    while folders or links:
        here = folders.pop() if folders else links.pop()
        with suppress(OSError), os.scandir(here) as entries:
            if (place := os.path.realpath(here)) in entered:
                continue
            entered.add(place)
            for entry in entries:
                paths.append(path := here / entry.name)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(path)
                elif entry.is_symlink() and path.is_dir():
                    links.append(path)
    return sorted(path for path in paths if path.match(pattern))


def readable(path: Path) -> Path:
    """Return the path of a file that can be opened; not all libraries say why they cannot open one.

    Raises:
        CrossmodalError: If it is not there, or this user may not read it.
    """
    try:
        Path(path).open("rb").close()
    except OSError as error:
        remedy = "let its owner allow you to read it" if path.exists() else "make it first"
        raise CrossmodalError(f"{path}: {error.strerror}; {remedy}") from error
    return Path(path)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: object) -> None:
    """Write `value` as indented JSON with sorted keys."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        CrossmodalError: If the file is missing or is not JSON.
    """
    try:
        return json.loads(readable(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CrossmodalError(f"{path}: cannot be read as JSON ({error}); make it again") from error


def write_csv(path: Path, columns: list[str], rows: Iterable[Iterable[object]]) -> None:
    """Write a header and rows as UTF-8 CSV."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        # without all quotes, Python 3.11 writes a bare carriage return that ends the row
        writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(columns)
        writer.writerows(rows)


def read_csv(path: Path, columns: list[str]) -> list[dict[str, str]]:
    """Read a CSV that has at least `columns`.

    Raises:
        CrossmodalError: If the file is missing, not UTF-8, or lacks a column or a field.
    """
    try:
        with readable(path).open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            header, rows = reader.fieldnames or [], list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CrossmodalError(f"{path}: cannot be read as UTF-8 CSV ({error})") from error
    missing = [column for column in columns if column not in header]
    if missing:
        raise CrossmodalError(f"{path}: column {missing[0]!r} is missing; needed: {columns}")
    for number, row in enumerate(rows, 1):
        if None in row or None in row.values():
            raise CrossmodalError(
                f"{path}: row {number} has not {len(header)} fields; make it again"
            )
        if "\0" in "".join(row.values()):
            raise CrossmodalError(f"{path}: row {number} has a NUL character; make it again")
    return rows


def digest(*parts: object) -> str:
    """Return a short hash of JSON values: the key under which unfinished work is found again."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with readable(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
