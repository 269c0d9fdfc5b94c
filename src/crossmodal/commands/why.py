"""Print the provenance of an output, from a table down to published files."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from crossmodal.errors import CrossmodalError
from crossmodal.io import hdf5
from crossmodal.io.files import read_json, sha256
from crossmodal.io.hdf5 import DAMAGE
from crossmodal.io.relative_names import defect
from crossmodal.workflow.carrier import Record
from crossmodal.workflow.records import OUTPUTS, RAW, original, record_of

Text = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*$")]  # or it could command a terminal
CODE = re.compile(r'"code": "([0-9a-f]+)"')


class Provenance(BaseModel, extra="ignore", strict=True):
    """Provenance that is stored in a result; see `crossmodal.io.provenance`."""

    versions: dict[Text, Text] = {}
    threads: int = 0
    device: Text = ""
    inputs: dict[str, Text] = {}


def why(path: Path) -> None:
    """Print an output and each file that it depends on, directly or not.

    Raises:
        CrossmodalError: If there is no record of `path`.
    """
    path = original(path)
    record_of(path)
    digests: dict[Path, str] = {}
    files = [path]
    for file in files:  # the list grows
        print(file)
        sources = print_record(file, digests)
        files += [source for source in sources if source not in files]


def print_record(path: Path, digests: dict[Path, str]) -> list[Path]:
    """Print the time, rule, code and inputs of a file.

    Args:
        path: An output of the workflow.
        digests: SHA-256 of the files that were read already; it is extended.

    Returns:
        The outputs among the inputs.
    """
    try:
        record = record_of(path)
    except CrossmodalError as error:
        print(f"  {_published(path) or str(error).removeprefix(f'{path}: ')}")
        return []
    provenance = provenance_of(path)
    time = datetime.fromtimestamp(record.endtime).isoformat(" ", "seconds")
    print("; ".join([f"  made {time} by {record.rule}", *_facts(record, provenance)]))
    names = (name for name in record.input or () if not defect(name))
    sources = [Path(name) for name in names if Path(name).parts[0] in OUTPUTS]
    for source in sources:
        print(f"  of {source}{_compared(source, provenance, digests)}")
    return sources


def provenance_of(path: Path) -> Provenance:
    """Return the provenance in a result; an empty one for other files.

    Raises:
        CrossmodalError: If it cannot be read, or is not of this form.
    """
    try:
        return Provenance.model_validate(_stored(path))
    except (*DAMAGE, ValidationError) as error:
        raise CrossmodalError(f"{path}: its provenance cannot be read ({error})") from error


def _stored(path: Path) -> object:
    """Return the provenance in a result, as JSON."""
    if path.suffix == ".h5":
        with hdf5.read(path) as file:
            meta = json.loads(hdf5.part(file, "meta")[0]) if "meta" in file else {}
            return meta.get("made") or json.loads(file.attrs.get("made", "{}"))
    if path.parts[0] == "models":
        return read_json(path.with_name("model.json"))["fit"].get("made", {})
    return read_json(path).get("made", {}) if path.suffix == ".json" else {}


def _facts(record: Record, provenance: Provenance) -> Iterator[str]:
    """Yield code, versions, threads and device."""
    for value in record.params or ():
        if code := CODE.search(str(value)):
            yield f"code {code[1]}"
    if provenance.versions:
        yield ", ".join(f"{name} {version}" for name, version in provenance.versions.items())
        threads = provenance.threads
        yield f"{threads} thread{'s' * (threads != 1)}, {provenance.device}"


def _compared(source: Path, provenance: Provenance, digests: dict[Path, str]) -> str:
    """Return the digest of an input when it was read, and whether it has changed."""
    then = provenance.inputs.get(str(source))
    if then is None:
        return ""
    if source not in digests:
        digests[source] = sha256(source) if source.is_file() else "absent"
    now = digests[source]
    state = {then: "unchanged", "absent": "missing now"}
    return f", SHA-256 {then[:16]}, {state.get(now, f'CHANGED TO {now[:16]}')}"


def _published(path: Path) -> str:
    """Return the state of a raw file, which has no record."""
    if not path.is_relative_to(RAW):
        return ""
    return f"as published, SHA-256 {sha256(path)[:16]}" if path.exists() else "missing"
