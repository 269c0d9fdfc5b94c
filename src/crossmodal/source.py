"""Which source a job runs: its modules and all that they import from the package."""

import ast
import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent


@functools.cache
def code(*modules: str) -> str:
    """Hash of the source of `modules` and of all that they import from the package, transitively.

    Args:
        modules: Full names, 'crossmodal.steps.train' say.
    """
    found, todo = set(), set(modules)
    while todo:
        found |= todo
        todo = {name for module in todo for name in _imports(module)} - found
    return hashlib.sha256(b"".join(_content(name) for name in sorted(found))).hexdigest()[:16]


@functools.cache
def _files() -> dict[str, Path]:
    """File of every module of the package."""
    return {_name(path): path for path in PACKAGE.rglob("*.py")}


def _name(path: Path) -> str:
    parts = (PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def _content(module: str) -> bytes:
    return _files()[module].read_bytes()


@functools.cache
def _imports(module: str) -> frozenset[str]:
    """Modules of the package that a module imports, at its top or inside of a function."""
    named = {name for node in ast.walk(ast.parse(_content(module))) for name in _named(node)}
    # importing a.b.c runs a and a.b too
    parents = {name.rsplit(".", depth)[0] for name in {*named, module} for depth in (1, 2, 3)}
    return frozenset((named | parents) & _files().keys())


def _named(node: ast.AST) -> Iterator[str]:
    """Names a statement may import: `from a import b` is a, and a.b if that is a module."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
