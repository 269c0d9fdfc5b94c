"""Refusal of YAML that would lose values without a message, or is no plain data."""

import copy
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from crossmodal.errors import CrossmodalError

DEEPEST = 50  # lists and mappings inside of each other; parsers crash on some thousands


def line_of(path: Path, address: Sequence[str]) -> int:
    """Return the line of a key, given the keys that lead to it."""
    node, line = yaml.compose(path.read_text(encoding="utf-8"), yaml.CSafeLoader), 0
    for name in address:
        key, node = next(pair for pair in node.value if pair[0].value == str(name))
        line = key.start_mark.line + 1
    return line


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file that has no key twice and no anchor.

    Readers would drop the first one of two keys. DVC writes an override into the one mapping that
    all aliases of an anchor share, so that it changes more than it says, or nothing.

    Raises:
        CrossmodalError: With the lines of both keys or of the anchor, or if the file is no YAML.
    """
    try:
        return copy.deepcopy(_parsed(path, path.read_text(encoding="utf-8")))
    except OSError as error:
        raise CrossmodalError(f"{path}: {error.strerror}; go to the folder that has it") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1
        raise CrossmodalError(f"{path}: line {line}: {error.problem}") from error
    except (ValueError, yaml.YAMLError) as error:
        raise CrossmodalError(f"{path}: {error}") from error


@functools.lru_cache(maxsize=64)
def _parsed(path: Path, text: str) -> Any:
    """Return what a text says; to parse it takes far longer than to copy the answer."""
    _refuse_anchors(path, text)
    loader = yaml.CSafeLoader(text)
    try:
        root = loader.get_single_node()
        _refuse_repeats(path, root)
        return loader.construct_document(root) if root else None
    finally:
        loader.dispose()


def _refuse_anchors(path: Path, text: str) -> None:
    """Check that a text has no anchors, and no deeper values than parsers survive."""
    depth = 0
    for event in yaml.parse(text, yaml.CSafeLoader):
        starts = isinstance(event, yaml.CollectionStartEvent)
        depth += starts - isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + 1
        if depth > DEEPEST:
            raise CrossmodalError(f"{path}: line {line}: more than {DEEPEST} brackets are open")
        if anchor := getattr(event, "anchor", None):
            raise CrossmodalError(
                f"{path}: line {line}: {anchor!r} is an anchor or an alias: `dvc exp run -S` would "
                "change all that share it; name what both have in common with `base`, or `of` in a "
                "group's rows"
            )


def _refuse_repeats(path: Path, root: yaml.Node | None) -> None:
    """Check that no mapping has a key twice."""
    todo = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, yaml.MappingNode):
            lines: dict[str, int] = {}
            for key, value in node.value:
                name, line = str(key.value), key.start_mark.line + 1
                if name in lines:
                    raise CrossmodalError(
                        f"{path}: line {line}: key {name!r} is there already, in line "
                        f"{lines[name]}; remove one"
                    )
                lines[name] = line
                todo.append(value)
        elif isinstance(node, yaml.SequenceNode):
            todo += node.value


def refuse_other_types(value: object, where: str = "") -> None:
    """Check that a value is plain data: YAML has dates, bytes, and keys of any type too.

    Args:
        value: Content of a file.
        where: Its key path.

    Raises:
        CrossmodalError: With the key path of what is neither a list, a mapping from texts, a text,
            a number, a boolean nor null.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            path = f"{where}.{key}".lstrip(".")
            if not isinstance(key, str):
                raise CrossmodalError(f"params.yaml: {path}: the key {key!r} is no text; quote it")
            refuse_other_types(inner, path)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            refuse_other_types(inner, f"{where}.{number}")
    elif not isinstance(value, str | int | float | None):
        raise CrossmodalError(
            f"params.yaml: {where}: {value!r} is neither text nor number; if it is text, quote it"
        )
