"""params.yaml and files laid over it, as `snakemake --configfile` does."""

import functools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crossmodal.config.yaml_text import read_yaml
from crossmodal.errors import CrossmodalError

# the beginning of a message: key paths in it are those of all files together
ADDRESS = re.compile(r"^params\.yaml: (?=([\w.-]*))", re.MULTILINE)


def read_files(files: Sequence[Path]) -> dict[str, Any]:
    """Content of the first file, with that of the others laid over it key by key.

    Raises:
        CrossmodalError: If a file is missing, or holds something else than unique keys.
    """
    return functools.reduce(_overlaid, map(_content, files))


@contextmanager
def naming(files: Sequence[Path]) -> Iterator[None]:
    """In errors on params.yaml, name the file that says what is wrong."""
    try:
        yield
    except CrossmodalError as error:
        named = ADDRESS.sub(lambda found: f"{_origin(found[1], files)}: ", str(error))
        raise CrossmodalError(named) from error


def _content(path: Path) -> dict[str, Any]:
    content = read_yaml(path)
    if not isinstance(content, dict | None):
        raise CrossmodalError(f"{path}: holds no keys, but {content!r:.40}")
    return content or {}


def _overlaid(below: Any, above: dict[str, Any]) -> dict[str, Any]:
    found = dict(below) if isinstance(below, dict) else {}
    for key, value in above.items():
        found[key] = _overlaid(found.get(key), value) if isinstance(value, dict) else value
    return found


def _origin(address: str, files: Sequence[Path]) -> Path:
    """The last one of the files that have most of an address."""
    return max(reversed(files), key=lambda path: _depth(_content(path), address.split(".")))


def _depth(content: Any, keys: list[str]) -> int:
    """How many of the keys lead somewhere, one inside of the other."""
    if not keys or not isinstance(content, dict):
        return 0
    # an experiment of a group is not a key, but begins like one
    near = [key for key in content if keys[0] == key or keys[0].startswith((f"{key}_", f"{key}-"))]
    return 1 + _depth(content[max(near, key=len)], keys[1:]) if near else 0
