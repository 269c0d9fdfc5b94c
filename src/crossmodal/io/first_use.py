"""Checksums of files for which their publisher states none: trust on first use.

The first download records the SHA-256 in `checksums.json`, which is committed with `dvc.lock`;
every later one, on any machine, must bring the same file.
"""

from pathlib import Path

from pydantic import TypeAdapter

from crossmodal.errors import CrossmodalError
from crossmodal.io.checkpoints import FOLDER
from crossmodal.io.files import sha256, write_json
from crossmodal.io.locks import lock
from crossmodal.io.shaped_json import read_shaped

RECORD = Path("checksums.json")
CHECKSUMS = TypeAdapter(dict[str, str])


def recorded() -> dict[str, str]:
    """Return the SHA-256 of each file that was downloaded once, by dataset and name.

    Raises:
        CrossmodalError: If the record is corrupt.
    """
    return read_shaped(RECORD, CHECKSUMS, "check it out again") or {}


def check_or_record(name: str, path: Path) -> None:
    """Compare a file with the first download of its name, or record it as the first one.

    Raises:
        CrossmodalError: If it is another file.
    """
    checksum = sha256(path)
    FOLDER.mkdir(exist_ok=True)
    with lock(FOLDER / "checksums.lock", f"{RECORD}: waiting for another process that writes it"):
        record = recorded()
        if name not in record:
            write_json(RECORD, record | {name: checksum})
        elif record[name] != checksum:
            raise CrossmodalError(
                f"{name}: SHA-256 is {checksum}, but of the first download it was {record[name]}, "
                f"says {RECORD}. Its publisher replaced it, or somebody changed it on the way: if "
                "you trust the new file, delete that line and run again"
            )
