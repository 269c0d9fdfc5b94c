"""params.yaml, the files in experiments/, and files laid over them by `--configfile`."""

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crossmodal.config.yaml_text import line_of, read_yaml
from crossmodal.errors import CrossmodalError

Address = tuple[str, ...]  # keys, each inside of the one before
# the beginning of a message: key paths in it are those of all files together
ADDRESS = re.compile(r"^params\.yaml: (?=([\w.-]*))", re.MULTILINE)


def own_files(path: Path) -> list[Path]:
    """Return params.yaml and, sorted, the files in the folder `experiments` beside it."""
    return [path, *sorted((path.parent / "experiments").rglob("*.yaml"))]


def read_files(files: Sequence[Path]) -> dict[str, Any]:
    """Return all that is set.

    Args:
        files: params.yaml, which the files in experiments/ complete; then files that are laid over
            it, key by key.

    Raises:
        CrossmodalError: If a file is missing, holds something else than unique keys, or has an
            entry that another file of the project has too.
    """
    return functools.reduce(overlaid, map(_content, files[1:]), _joined(own_files(files[0])))


@contextmanager
def naming(files: Sequence[Path]) -> Iterator[None]:
    """Name the file that has the wrong key in errors on params.yaml.

    Args:
        files: params.yaml, then the files laid over it.
    """
    try:
        yield
    except CrossmodalError as error:
        origin = origins(files)
        named = ADDRESS.sub(lambda match: f"{origin(match[1])}: ", str(error))
        raise CrossmodalError(named) from error


def origins(files: Sequence[Path]) -> Callable[[str], Path]:
    """Return a function that tells which file has an address, or has most of it.

    Args:
        files: params.yaml, then the files laid over it, of which the last one counts.
    """
    contents = {path: _content(path) for path in [*files[:0:-1], *own_files(files[0])]}

    def origin(address: str) -> Path:
        depths = {path: _depth(each, address.split(".")) for path, each in contents.items()}
        return max(depths, key=depths.__getitem__) if any(depths.values()) else files[0]

    return origin


def _joined(files: Sequence[Path]) -> dict[str, Any]:
    """Return the content of files of which each has entries of its own."""
    joined: dict[str, Any] = {}
    places: dict[Address, Path] = {}
    for path in files:
        for key, value in _content(path).items():
            section = isinstance(value, dict) and isinstance(joined.get(key, {}), dict)
            entries = [(key, name) for name in value] if section else [(key,)]
            for address in entries:
                if address in places:
                    raise _twice(address, path, places[address])
            places |= dict.fromkeys([(key,), *entries], path)
            joined[key] = joined.get(key, {}) | value if section else value
    return joined


def _twice(address: Address, path: Path, other: Path) -> CrossmodalError:
    """Return the error of a key that two files have."""
    key = ".".join(map(str, address))
    return CrossmodalError(
        f"{path}: line {line_of(path, address)}: {key!r} is in {other}, line "
        f"{line_of(other, address)}, too; remove one"
    )


def _content(path: Path) -> dict[str, Any]:
    content = read_yaml(path)
    if not isinstance(content, dict | None):
        raise CrossmodalError(f"{path}: holds no keys, but {content!r:.40}")
    return content or {}


def overlaid(below: object, above: dict[str, Any]) -> dict[str, Any]:
    """Return what is set where one content is laid over another one, key by key."""
    joined = dict(below) if isinstance(below, dict) else {}
    for key, value in above.items():
        joined[key] = overlaid(joined.get(key), value) if isinstance(value, dict) else value
    return joined


def _depth(content: object, keys: list[str]) -> int:
    """Return the number of keys that lead to something, each inside of the one before."""
    if not keys or not isinstance(content, dict) or keys[0] not in content:
        return 0
    return 1 + _depth(content[keys[0]], keys[1:])
