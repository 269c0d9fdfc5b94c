"""Listings of DVC: which files an output folder has, and their MD5.

DVC writes a file wherever a listing says, and takes a listing from the remote as it comes. So it is
fetched here, and put into DVC's cache once it is the one of dvc.lock and its names stay in the
folder.
"""

import hashlib
from pathlib import Path

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import replacing
from crossmodal.io.relative_names import defect

LISTING = r"^[0-9a-f]{32}\.dir$"
RULES = ".dvcignore"  # of DVC, in any folder


class File(BaseModel):
    """A file of an output folder."""

    relpath: str
    md5: str = Field(pattern="^[0-9a-f]{32}$")


FILES = TypeAdapter(list[File])


def fetch_listing(name: str) -> list[File]:
    """Return a listing of DVC's cache, into which it is fetched from the remote if need be.

    Args:
        name: Its hash, as in dvc.lock.

    Raises:
        CrossmodalError: If there is none, it is another one, or it names a file outside.
    """
    cached = _cached(name)
    if cached.is_file() and _is_listing(cached.read_bytes(), name):
        return _files(cached.read_bytes(), name)
    content = _received(name)
    if not _is_listing(content, name):
        raise CrossmodalError(
            f"{name}: the remote has another listing of files than dvc.lock; nothing was pulled"
        )
    files = _files(content, name)
    with replacing(cached) as temporary:
        temporary.write_bytes(content)
    return files


def _received(name: str) -> bytes:
    from dvc.repo import Repo

    try:
        with Repo() as repo:
            remote = repo.cloud.get_remote_odb()
            return remote.fs.cat_file(remote.oid_to_path(name))
    except Exception as error:  # each kind of remote has its own
        raise CrossmodalError(f"{name}: not to be had from the remote ({error})") from error


def _is_listing(content: bytes, name: str) -> bool:
    return hashlib.md5(content).hexdigest() == Path(name).stem


def _files(content: bytes, name: str) -> list[File]:
    try:
        files = FILES.validate_json(content)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise CrossmodalError(f"{name}: no listing of files ({reason})") from error
    for file in files:
        reason = defect(file.relpath)
        if Path(file.relpath).name.lower() == RULES:
            reason = "is of rules by which DVC would share what no licence opens"
        if reason:
            raise CrossmodalError(f"{name}: the name {file.relpath[:255]!r} {reason}")
    return files


def wrong_files(folder: Path, files: list[File]) -> list[str]:
    """Return files that differ from a listing; remove corrupt copies of the cache."""
    wrong = []
    for file in files:
        path = folder / file.relpath
        if not path.is_file() or _md5(path) != file.md5:
            cached = _cached(file.md5)
            wrong.append(f"{path} ({'/'.join(cached.parts[-4:])})")
            if cached.is_file() and _md5(cached) != file.md5:
                cached.unlink()
    return wrong


def _cached(name: str) -> Path:
    """Return the path of an object in DVC's cache."""
    from dvc.exceptions import NotDvcRepoError
    from dvc.repo import Repo

    try:
        with Repo() as repo:
            return Path(repo.cache.local.oid_to_path(name))
    except NotDvcRepoError as error:
        raise CrossmodalError(f"{error}; go to the project's folder") from error


def _md5(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "md5").hexdigest()
