"""How an output came about: from a table down to the files that were published."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from crossmodal.data.feature_reader import DAMAGE
from crossmodal.errors import CrossmodalError
from crossmodal.io import hdf5
from crossmodal.io.files import read_json, sha256
from crossmodal.io.relative_names import defect
from crossmodal.workflow.carrier import Record
from crossmodal.workflow.records import OUTPUTS, RAW, record_of

Text = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*$")]  # or it could command a terminal
CODE = re.compile(r'"code": "([0-9a-f]+)"')


class Provenance(BaseModel, extra="ignore", strict=True):
    """How a result was made, as it says itself; see `crossmodal.io.provenance`."""

    versions: dict[Text, Text] = {}
    threads: int = 0
    device: Text = ""
    inputs: dict[str, Text] = {}


def why(path: Path) -> None:
    """Print an output and, below it, each file that it was made of, directly or not.

    Raises:
        CrossmodalError: If nothing is known of `path`.
    """
    record_of(path)
    digests: dict[Path, str] = {}
    files = [path]
    for file in files:  # which grow
        print(file)
        sources = print_making(file, digests)
        files += [source for source in sources if source not in files]


def print_making(path: Path, digests: dict[Path, str]) -> list[Path]:
    """Print when, by which rule and code a file was made, and of what.

    Args:
        path: An output of the workflow.
        digests: SHA-256 of the files that were read already, which grow.

    Returns:
        The outputs that it was made of.
    """
    try:
        record = record_of(path)
    except CrossmodalError as error:
        print(f"  {_published(path) or str(error).removeprefix(f'{path}: ')}")
        return []
    made = provenance_of(path)
    time = datetime.fromtimestamp(record.endtime).isoformat(" ", "seconds")
    print("; ".join([f"  made {time} by {record.rule}", *_facts(record, made)]))
    names = (name for name in record.input or () if not defect(name))
    sources = [Path(name) for name in names if Path(name).parts[0] in OUTPUTS]
    for source in sources:
        print(f"  of {source}{_compared(source, made, digests)}")
    return sources


def provenance_of(path: Path) -> Provenance:
    """Return what a result says of itself; nothing for other files.

    Raises:
        CrossmodalError: If it cannot be read, or says something of another shape.
    """
    try:
        return Provenance.model_validate(_stated(path))
    except (*DAMAGE, ValidationError) as error:
        raise CrossmodalError(f"{path}: does not say how it was made ({error})") from error


def _stated(path: Path) -> Any:
    """What a result says of itself, as JSON."""
    if path.suffix == ".h5":
        with hdf5.read(path) as file:
            stated = json.loads(hdf5.part(file, "meta")[0]) if "meta" in file else {}
            return stated.get("made") or json.loads(file.attrs.get("made", "{}"))
    if path.parts[0] == "models":
        return read_json(path.with_name("model.json"))["fit"].get("made", {})
    return read_json(path).get("made", {}) if path.suffix == ".json" else {}


def _facts(record: Record, made: Provenance) -> Iterator[str]:
    """Code, versions, threads and device."""
    for value in record.params or ():
        if code := CODE.search(str(value)):
            yield f"code {code[1]}"
    if made.versions:
        yield ", ".join(f"{name} {version}" for name, version in made.versions.items())
        yield f"{made.threads} thread{'s' * (made.threads != 1)}, {made.device}"


def _compared(source: Path, made: Provenance, digests: dict[Path, str]) -> str:
    """Digest of an input when it was read, and whether it is still the same."""
    then = made.inputs.get(str(source))
    if then is None:
        return ""
    if source not in digests:
        digests[source] = sha256(source) if source.is_file() else "absent"
    now = digests[source]
    same = {then: "as it is now", "absent": "not here now"}
    return f", SHA-256 {then[:16]}, {same.get(now, f'BUT NOW {now[:16]}')}"


def _published(path: Path) -> str:
    """What is said of a raw file in place of a record."""
    if not path.is_relative_to(RAW):
        return ""
    return f"as published, SHA-256 {sha256(path)[:16]}" if path.exists() else "not here"
