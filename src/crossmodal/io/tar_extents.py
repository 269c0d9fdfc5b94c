"""Members of tar files without compression: where each of them lies."""

import tarfile
from collections.abc import Iterator
from pathlib import Path

from crossmodal.errors import CrossmodalError
from crossmodal.io.archives import StrictHeader, headers
from crossmodal.io.extents import Extent
from crossmodal.io.files import DAMAGE
from crossmodal.io.relative_names import defect

LARGEST = 1 << 28  # bytes of a picture, sound or text


def tar_extents(path: Path) -> Iterator[tuple[str, Extent, str]]:
    """Yield name and place of each file, and why it is not to be read; empty if it is.

    Raises:
        CrossmodalError: Where the tar is damaged, or compressed; members before were yielded.
    """
    try:
        with tarfile.open(path, "r:", tarinfo=StrictHeader) as opened:
            for info in headers(opened):
                if not info.isdir():
                    yield info.name, Extent(path, info.offset_data, info.size), _fault(info)
    except DAMAGE as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        advice = "decompress it with gunzip, or get it again"
        raise CrossmodalError(f"{path}: is no whole tar file: {reason}; {advice}") from error


def _fault(info: tarfile.TarInfo) -> str:
    if not info.isreg() or info.issparse():
        return "is a link, a device or sparse, no plain file"
    if info.size > LARGEST:
        return f"has {info.size:,} bytes, at most {LARGEST:,} fit"
    reason = defect(info.name)
    return f"its name {reason}" if reason else ""
