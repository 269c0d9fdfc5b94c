"""Writer of prepared datasets whose media are in shards, see `crossmodal.data.media`."""

import json
import shutil
import zipfile
from pathlib import Path

from crossmodal.data.media import LIST, SHARDS, digest_of
from crossmodal.data.writer import Writer
from crossmodal.io.files import replace, sync

ENTRY, END = 76, 98  # bytes of an archive below 2 GB, per member besides its name, and at its end


class ShardWriter(Writer):
    """Puts media into shards, in the order in which they come; no more than one is open.

    Args:
        folder: Of the dataset.
        limit: Bytes of a shard, at most; a larger file has a shard of its own.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        super().__init__(folder)
        self.limit, self._size = limit, 0
        self._digests: dict[str, str] = {}

    def __enter__(self) -> "ShardWriter":
        super().__enter__()
        self._list = self._shard = self._media
        self._new = self._files["media.zip"].with_name(SHARDS)  # removed, if anything fails
        self._new.mkdir()
        self._stack.callback(self._end_shard)
        return self

    def _store(self, where: str, folder: str, id: str, suffix: str, content: bytes | None) -> str:
        """Put a file into a shard, but a published matrix beside the list of shards."""
        is_matrix = folder == "published"
        if content and not is_matrix:
            self._make_room(f"{folder}/{id}{suffix}", content)
        self._media = self._list if is_matrix else self._shard
        member = super()._store(where, folder, id, suffix, content)
        return f"{self._name()}/{member}" if member and not is_matrix else member

    def _make_room(self, member: str, content: bytes) -> None:
        """Begin another shard where the open one has no room for a file."""
        size = ENTRY + 2 * len(member.encode(errors="replace")) + len(content)
        if self._shard is self._list or self._size + size > self.limit:
            self._end_shard()
            self._shard = zipfile.ZipFile(self._new / self._name(), "w", zipfile.ZIP_STORED)
            self._size = END
        self._size += size

    def _name(self) -> str:
        """Return the name of the open shard, or of the next one."""
        return f"media-{len(self._digests):05d}.zip"

    def _end_shard(self) -> None:
        """Finish the open shard, if there is one."""
        if self._shard is self._list:
            return
        shard, self._shard = self._shard, self._list
        shard.close()
        sync(self._new / self._name())
        self._digests[self._name()] = digest_of(shard)

    def _write_tables(self) -> None:
        self._end_shard()
        self._media = self._list
        self._media.writestr(zipfile.ZipInfo(LIST), json.dumps(self._digests, indent=1) + "\n")
        super()._write_tables()
        place = self.folder / SHARDS
        if place.exists():
            shutil.rmtree(place)
        replace(self._new, place)
