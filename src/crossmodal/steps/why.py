"""How an output came about: from a table down to the files that were published."""

import ast
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from crossmodal.errors import CrossmodalError
from crossmodal.io import hdf5
from crossmodal.io.files import read_json, sha256
from crossmodal.workflow.records import OUTPUTS, RAW, record_of


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
    time = datetime.fromtimestamp(record["endtime"]).isoformat(" ", "seconds")
    print("; ".join([f"  made {time} by {record['rule']}", *_facts(record, made)]))
    sources = [Path(name) for name in record["input"] if Path(name).parts[0] in OUTPUTS]
    for source in sources:
        print(f"  of {source}{_compared(source, made, digests)}")
    return sources


def provenance_of(path: Path) -> dict[str, Any]:
    """What a result says of itself, see `crossmodal.io.provenance`; empty for other files."""
    if path.suffix == ".h5":
        with hdf5.read(path) as file:
            stated = json.loads(file["meta"][0]) if "meta" in file else {}
            return stated.get("made") or json.loads(file.attrs.get("made", "{}"))
    if path.parts[0] == "models":
        return read_json(path.with_name("model.json"))["fit"].get("made", {})
    return read_json(path).get("made", {}) if path.suffix == ".json" else {}


def _facts(record: dict[str, Any], made: dict[str, Any]) -> Iterator[str]:
    """Code, versions, threads and device."""
    for value in map(ast.literal_eval, record["params"]):
        if value.startswith("{"):
            yield f"code {json.loads(value)['code']}"
    if made:
        yield ", ".join(f"{name} {version}" for name, version in made["versions"].items())
        yield f"{made['threads']} thread{'s' * (made['threads'] != 1)}, {made['device']}"


def _compared(source: Path, made: dict[str, Any], digests: dict[Path, str]) -> str:
    """Digest of an input when it was read, and whether it is still the same."""
    then = made.get("inputs", {}).get(str(source))
    if then is None:
        return ""
    if source not in digests:
        digests[source] = sha256(source) if source.exists() else "absent"
    now = digests[source]
    same = {then: "as it is now", "absent": "not here now"}
    return f", SHA-256 {then[:16]}, {same.get(now, f'BUT NOW {now[:16]}')}"


def _published(path: Path) -> str:
    """What is said of a raw file in place of a record."""
    if not path.is_relative_to(RAW):
        return ""
    return f"as published, SHA-256 {sha256(path)[:16]}" if path.exists() else "not here"
