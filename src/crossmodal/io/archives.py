"""Published archives, read member by member: nothing is ever unpacked to a disk."""

import stat
import tarfile
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self

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
        """Return all files, in the archive's order; a .tar.gz is read once from start to end."""
        return list(self._members)

    @cached_property
    def _members(self) -> dict[str, "_Member"]:
        return {member.name: member for member in self._scan()}

    def locate(self, name: str) -> str:
        """Return the one member whose path is `name` or ends in `/name`.

        Raises:
            CrossmodalError: If there is none, or there are several.
        """
        members = [m for m in self.names if m == name or m.endswith(f"/{name}")]
        if len(members) != 1:
            raise CrossmodalError(
                f"{self.path}: {name}: the archive holds {len(members)} such files, need one; "
                + AGAIN
            )
        return members[0]

    def read(self, member: str) -> bytes:
        """Return the content of a member; many members of a .tar.gz are read faster by `walk`.

        Raises:
            CrossmodalError: If there is no such member, or it is corrupt, encrypted or too large.
        """
        if member not in self._members:
            raise CrossmodalError(f"{self.path}: {member}: not in the archive; {AGAIN}")
        return self._read(self._members[member])

    def text(self, name: str, encoding: str = "utf-8") -> str:
        """Return a text file, wherever in the archive it lies; see `locate` and `read`."""
        member = self.locate(name)
        content = self.read(member)
        try:
            return content.decode(encoding)
        except UnicodeDecodeError as error:
            raise CrossmodalError(f"{self.path}: {member}: {error}; {AGAIN}") from error

    def walk(self, wanted: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the path and content of the members `wanted`, in the archive's order, in one pass.

        Raises:
            CrossmodalError: As `read`; a missing member is reported after the others.
        """
        missing = dict.fromkeys(wanted)
        for member in self._scan():
            if member.name in missing:
                del missing[member.name]
                yield member.name, self._read(member)
        for name in missing:
            raise CrossmodalError(f"{self.path}: {name}: not in the archive; {AGAIN}")

    def _scan(self) -> Iterator["_Member"]:
        """Yield all files, each checked when it is met."""
        seen = set()
        with self._damage():
            for member in self._opened:
                name = member.name
                slashed = name.replace("\\", "/")  # as Windows writes some
                parts = PurePosixPath(slashed).parts
                if _is_of_macos(parts):
                    continue
                if parts and (reason := defect(slashed)):
                    raise self._refusal(name, f"the name {reason}")
                if name in seen:
                    raise self._refusal(name, "is in the archive twice")
                if member.is_file is None:
                    raise self._refusal(name, "a link or a device, no file")
                if member.is_file:
                    seen.add(name)
                    yield member

    def _read(self, member: "_Member") -> bytes:
        if member.size > LIMIT:
            reason = f"would take {member.size} bytes, more than {LIMIT}"
            raise self._refusal(member.name, reason)
        with self._damage(f"{member.name}: "):
            return member.read()

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


@dataclass(frozen=True)
class _Member:
    """A file, a folder, or (None) neither of them.

    Args:
        name: Path in the archive.
        is_file: None for links and devices.
        size: Bytes of its content.
        read: Returns the content.
    """

    name: str
    is_file: bool | None
    size: int
    read: Callable[[], bytes]


class _Zip:
    def __init__(self, path: Path) -> None:
        self.file = zipfile.ZipFile(path)

    def __iter__(self) -> Iterator[_Member]:
        for info in self.file.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16) if info.create_system == 3 else 0  # Unix
            is_regular = kind in (0, stat.S_IFREG, stat.S_IFDIR)
            is_file = not info.is_dir() if is_regular else None
            # stops at the declared size, whatever the stream expands to
            yield _Member(info.filename, is_file, info.file_size, partial(self.file.read, info))


class _Tar:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = ExitStack()
        self._open()

    def _open(self) -> tarfile.TarFile:
        opened = tarfile.open(self.path, tarinfo=StrictHeader)  # noqa: SIM115
        self.newest = self.file.enter_context(opened)
        return self.newest

    def __iter__(self) -> Iterator[_Member]:
        for info in headers(self._open()):
            is_file = info.isreg() if info.isreg() or info.isdir() else None
            yield _Member(info.name, is_file, info.size, partial(self._read, info))

    def _read(self, info: tarfile.TarInfo) -> bytes:
        stream = self.newest.extractfile(info)
        if stream is None:  # only of links and folders, which are not read
            raise tarfile.ReadError(f"{info.name}: no file")
        return stream.read()


def headers(opened: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the headers of a tar file, of which tarfile would keep gigabytes, or never end."""
    last = -1
    for info in opened:
        vars(opened)["members"].clear()
        if info.size < 0 or info.offset <= last:
            raise tarfile.ReadError(f"{info.name}: negative size")
        last = info.offset
        yield info


class StrictHeader(tarfile.TarInfo):
    """Reports corruption where tarfile would take it for the end of the archive."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        """Return the header at the archive's position."""
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # not in the stubs
            raise  # a block of zeros ends an archive
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from error
