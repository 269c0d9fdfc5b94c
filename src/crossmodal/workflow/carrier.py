"""The file of records that an output folder carries, and the names of the records in it.

It comes with `dvc pull`, so nothing in it is believed before its shape is checked: a name is the
one that Snakemake would give to a file of that very folder, and a record has the types that
Snakemake writes.
"""

import base64
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, TypeAdapter

from crossmodal.errors import CrossmodalError
from crossmodal.io.relative_names import inside
from crossmodal.io.shaped_json import read_shaped

CARRIER = ".records.json"
PART = 254  # characters of a name that Snakemake puts into one part of a path
Time = Annotated[float, Field(ge=0, lt=1 << 33)]  # seconds since 1970, of which files have times


class Record(BaseModel, extra="allow", strict=True):
    """Snakemake's record of an output, which ends with a traceback on values of other types.

    What newer versions of it write besides is passed on.
    """

    starttime: Time | None = None
    endtime: Time
    rule: str | None = Field(None, pattern=r"^\w+$")
    code: str | None = None
    shellcmd: str | None = None
    conda_env: str | None = None
    container_img_url: str | None = None
    software_stack_hash: str | None = None
    external_jobid: str | None = None
    params: list[str] | None = None
    input: list[str] | None = None
    log: list[str] | None = None
    input_checksums: dict[str, str] | None = None
    incomplete: bool | None = None
    job_hash: int | None = None
    record_format_version: int = 0

    def to_json(self) -> dict[str, object]:
        """Return what Snakemake wrote."""
        return self.model_dump(exclude_unset=True)


class Entry(BaseModel, extra="forbid", strict=True):
    """A record, and the SHA-256 of the file that it describes; of a folder, that of its names."""

    record: Record
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


ENTRIES = TypeAdapter(dict[str, Entry])


def read_carrier(path: Path) -> dict[str, Entry]:
    """Return the entries of a carrier by the names of their records; none if there is no file.

    Raises:
        CrossmodalError: If it is no such file, or has a record of something outside its folder.
    """
    entries = read_shaped(path, ENTRIES) or {}
    for name in entries:
        if not is_name(name) or home(described(name)) != path.parent:
            raise CrossmodalError(
                f"{path}: {name[:PART]!r} is no record of a file of its folder; delete it, or pull "
                "it again from whom you trust"
            )
        inside(path.parent, str(described(name).relative_to(path.parent)), path)
    return entries


def described(name: str) -> Path:
    """Return the output that a record describes: its name is the base64 of the path.

    Raises:
        ValueError: If it is no such name.
    """
    parts = (part.removeprefix("@") for part in Path(name).parts)
    return Path(base64.urlsafe_b64decode("".join(parts)).decode())


def name_of(path: Path) -> str:
    """Return the name of an output's record, the inverse of `described`."""
    code = base64.urlsafe_b64encode(str(path).encode()).decode()
    parts = [code[start : start + PART] for start in range(0, len(code), PART)]
    return "/".join([*(f"@{part}" for part in parts[:-1]), parts[-1]])


def is_name(name: str) -> bool:
    """Return whether Snakemake could have given this name: base64 ignores what it does not know."""
    try:
        return name_of(described(name)) == name
    except ValueError:
        return False


def home(path: Path) -> Path:
    """Return the folder of the carrier: the file's own, of results that of their kind."""
    # `dvc plots` reads all files of a folder of curves
    return path.parents[-3] if path.parts[:1] == ("results",) and path.parts[2:] else path.parent
