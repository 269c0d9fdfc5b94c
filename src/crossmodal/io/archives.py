"""Published archives, read member by member: nothing is ever unpacked to a disk."""

import stat
import tarfile
import zipfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from types import TracebackType

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import DAMAGE
from crossmodal.io.relative_names import defect

LIMIT = 1 << 31  # bytes of one member; no published file comes near
AGAIN = "delete the archive and download it again"
REFUSED = "get the archive from its publisher"


class Archive:
    """A .zip, .tar, .tar.gz or .tgz file; use as a context manager.

    Every error is a `CrossmodalError` that names archive, member and reason. Members outside of the
    archive's own folder, links, devices and members that occur twice are errors; folders, and
    files added by macOS, are skipped.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    def __enter__(self) -> "Archive":
        with self._damage():
            zipped = self.path.suffix.lower() == ".zip"
            self._opened = (_Zip if zipped else _Tar)(self.path)
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.file.close()

    @cached_property
    def names(self) -> list[str]:
        """All files, in the archive's order; of a .tar.gz this is one pass over all of it."""
        return list(self._members)

    @cached_property
    def _members(self) -> dict[str, "_Member"]:
        return dict(self._scan())

    def locate(self, name: str) -> str:
        """The one member whose path is `name` or ends in `/name`.

        Raises:
            CrossmodalError: If there is none, or there are several.
        """
        found = [m for m in self.names if m == name or m.endswith(f"/{name}")]
        if len(found) != 1:
            raise CrossmodalError(
                f"{self.path}: {name}: the archive holds {len(found)} such files, need one; {AGAIN}"
            )
        return found[0]

    def read(self, member: str) -> bytes:
        """Content of a member; many members of a .tar.gz are read faster by `walk`.

        Raises:
            CrossmodalError: If there is no such member, or it is corrupt, encrypted or too large.
        """
        if member not in self._members:
            raise CrossmodalError(f"{self.path}: {member}: not in the archive; {AGAIN}")
        return self._read(member, self._members[member])

    def text(self, name: str, encoding: str = "utf-8") -> str:
        """A text file, wherever in the archive it lies; see `locate` and `read`."""
        member = self.locate(name)
        content = self.read(member)
        try:
            return content.decode(encoding)
        except UnicodeDecodeError as error:
            raise CrossmodalError(f"{self.path}: {member}: {error}; {AGAIN}") from error

    def walk(self, wanted: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Path and content of the members `wanted`, in the archive's order, in one pass.

        Raises:
            CrossmodalError: As `read`; a missing member is reported after the others.
        """
        missing = dict.fromkeys(wanted)
        for name, member in self._scan():
            if name in missing:
                del missing[name]
                yield name, self._read(name, member)
        for name in missing:
            raise CrossmodalError(f"{self.path}: {name}: not in the archive; {AGAIN}")

    def _scan(self) -> Iterator[tuple[str, "_Member"]]:
        """All files with their headers, each checked when it is met."""
        seen = set()
        with self._damage():
            for name, is_file, member in self._opened:
                slashed = name.replace("\\", "/")  # as Windows writes some
                parts = PurePosixPath(slashed).parts
                if _is_of_macos(parts):
                    continue
                if parts and (reason := defect(slashed)):
                    raise self._refusal(name, f"the name {reason}")
                if name in seen:
                    raise self._refusal(name, "is in the archive twice")
                if is_file is None:
                    raise self._refusal(name, "a link or a device, no file")
                if is_file:
                    seen.add(name)
                    yield name, member

    def _read(self, name: str, member: "_Member") -> bytes:
        size = self._opened.size(member)
        if size > LIMIT:
            raise self._refusal(name, f"would take {size} bytes, more than {LIMIT}")
        with self._damage(f"{name}: "):
            return self._opened.read(member)

    def _refusal(self, member: str, reason: str) -> CrossmodalError:
        return CrossmodalError(f"{self.path}: {member}: {reason}; {REFUSED}")

    @contextmanager
    def _damage(self, member: str = "") -> Iterator[None]:
        try:
            yield
        except DAMAGE as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise CrossmodalError(f"{self.path}: {member}{reason}; {AGAIN}") from error


def _is_of_macos(parts: tuple[str, ...]) -> bool:
    return "__MACOSX" in parts or parts[-1:] == ("Icon\r",) or "".join(parts[-1:]).startswith("._")


_Member = zipfile.ZipInfo | tarfile.TarInfo
# name, whether it is a file (None: neither file nor folder), header
_Entry = tuple[str, bool | None, _Member]


class _Zip:
    def __init__(self, path: Path) -> None:
        self.file = zipfile.ZipFile(path)

    def __iter__(self) -> Iterator[_Entry]:
        for info in self.file.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16) if info.create_system == 3 else 0  # Unix
            regular = kind in (0, stat.S_IFREG, stat.S_IFDIR)
            yield info.filename, (not info.is_dir() if regular else None), info

    def size(self, member: zipfile.ZipInfo) -> int:
        return member.file_size

    def read(self, member: zipfile.ZipInfo) -> bytes:
        # stops at the declared size, whatever the stream expands to
        return self.file.read(member)


class _Tar:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = ExitStack()
        self._open()

    def _open(self) -> tarfile.TarFile:
        opened = tarfile.open(self.path, tarinfo=_Header)  # noqa: SIM115
        self.newest = self.file.enter_context(opened)
        return self.newest

    def __iter__(self) -> Iterator[_Entry]:
        last = -1
        opened = self._open()
        for info in opened:
            opened.members.clear()  # it would keep all headers, gigabytes for millions of files
            if info.size < 0 or info.offset <= last:  # tarfile would never end
                raise tarfile.ReadError(f"{info.name}: negative size")
            last = info.offset
            regular = info.isreg() or info.isdir()
            yield info.name, (info.isreg() if regular else None), info

    def size(self, member: tarfile.TarInfo) -> int:
        return member.size

    def read(self, member: tarfile.TarInfo) -> bytes:
        return self.newest.extractfile(member).read()


class _Header(tarfile.TarInfo):
    """Reports corruption where tarfile would take it for the end of the archive."""

    @classmethod
    def frombuf(cls, buf: bytes, encoding: str, errors: str) -> tarfile.TarInfo:
        if len(buf) != tarfile.BLOCKSIZE:
            raise tarfile.ReadError("truncated")
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if buf.count(0) == tarfile.BLOCKSIZE:
                raise  # the end
            raise tarfile.ReadError(f"{error}") from error
