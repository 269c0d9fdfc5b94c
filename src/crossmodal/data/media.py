"""Media of prepared datasets, in one file or in shards.

A dataset in shards has a folder `media` with archives `media-00000.zip`, ...; the image of an item
is then `media-00000.zip/images/<id>.jpg`. Its `media.zip` has published matrices and a list of the
shards, each with a SHA-256 of names, sizes and checksums of its members: what verifies `media.zip`
verifies all, and nobody reads more than the shards that he needs.
"""

import hashlib
import re
import zipfile
from functools import cached_property, lru_cache
from pathlib import Path

from pydantic import TypeAdapter

from crossmodal.data.prepared import Prepared
from crossmodal.errors import CrossmodalError
from crossmodal.io.files import DAMAGE

SHARDS, LIST = "media", "shards.json"
PLACED = re.compile(r"(media-\d{5,}\.zip)/(.+)", re.ASCII | re.DOTALL)
OPEN = 4  # shards at a time, since each open one has the names of its members in memory
DIGESTS = TypeAdapter(dict[str, str])


class PreparedMedia(Prepared):
    """Reads a prepared dataset whose media may be in shards; fits, which read none, need it not."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._opened = lru_cache(OPEN)(self._open)  # one that is dropped closes its file

    def read(self, member: str) -> bytes:
        """Return an image or a spoken caption, see `Prepared.read`.

        Raises:
            CrossmodalError: If a shard is missing, corrupt, or none of those that were written.
        """
        placed = PLACED.fullmatch(member)
        if not placed:
            return super().read(member)
        archive = self._opened(placed[1])
        try:
            return archive.read(placed[2])
        except DAMAGE as error:
            raise self._shard_damage(placed[1], f"{placed[2]!r}: {error}") from error

    def where(self, member: str) -> str:
        """Return the path of the file that has a member, and the member."""
        placed = PLACED.fullmatch(member)
        return f"{self._path(placed[1])}: {placed[2]!r}" if placed else super().where(member)

    def stamp(self, member: str) -> tuple[int, int]:
        """Return checksum and size of a member, which tell its content from others."""
        placed = PLACED.fullmatch(member)
        archive, name = (self._opened(placed[1]), placed[2]) if placed else (self._media, member)
        try:
            info = archive.getinfo(name)
        except KeyError as error:
            raise CrossmodalError(f"{self.where(member)}: is missing; prepare again") from error
        return info.CRC, info.file_size

    @cached_property
    def _media(self) -> zipfile.ZipFile:
        """The archive media.zip, which has its members as they were written."""
        archive = super()._media
        try:
            _refuse_compressed(archive)
        except ValueError as error:
            raise self._damage("media.zip", str(error)) from error
        return archive

    @cached_property
    def _digests(self) -> dict[str, str]:
        """Digests of the shards, by name, all of which are there and no others."""
        try:
            listed = DIGESTS.validate_json(self._media.read(LIST))
        except DAMAGE as error:
            raise self._damage("media.zip", f"has no list of shards ({error})") from error
        there = {path.name for path in (self.folder / SHARDS).glob("media-*.zip")}
        if missing := listed.keys() - there:
            raise self._shard_damage(min(missing), f"missing, one of {len(missing)}")
        if further := there - listed.keys():
            raise self._shard_damage(min(further), self._unlisted(len(listed)))
        return listed

    def _open(self, shard: str) -> zipfile.ZipFile:
        """Open a shard, which must have the members that were written."""
        if shard not in self._digests:
            raise self._shard_damage(shard, self._unlisted(len(self._digests)))
        try:
            archive = zipfile.ZipFile(self._path(shard))
            _refuse_compressed(archive)
        except DAMAGE as error:
            raise self._shard_damage(shard, str(error)) from error
        if digest_of(archive) != self._digests[shard]:
            raise self._shard_damage(shard, "has not the members that media.zip lists")
        return archive

    def _path(self, shard: str) -> Path:
        return self.folder / SHARDS / shard

    def _unlisted(self, count: int) -> str:
        return f"none of the {count} shards that media.zip lists"

    def _shard_damage(self, shard: str, reason: str) -> CrossmodalError:
        remedy = f"delete {self.folder / SHARDS}, to prepare it again or to pull it again"
        return CrossmodalError(f"{self._path(shard)}: {reason}; {remedy}")


def _refuse_compressed(archive: zipfile.ZipFile) -> None:
    """Refuse an archive of which a member needs more memory than the archive has bytes."""
    size = Path(archive.filename or "").stat().st_size
    for member in archive.infolist():
        if member.compress_type != zipfile.ZIP_STORED or member.compress_size > size:
            raise ValueError(f"{member.filename!r} is compressed, or larger than the archive")


def digest_of(archive: zipfile.ZipFile) -> str:
    """Return the SHA-256 of names, sizes and checksums of the members of an archive.

    Members have a CRC-32, which is verified whenever one is read.
    """
    hashed = hashlib.sha256()
    for member in archive.infolist():
        hashed.update(f"{member.CRC:08x} {member.file_size} {member.filename}\n".encode())
    return hashed.hexdigest()
