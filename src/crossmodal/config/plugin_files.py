"""Places of plug-ins: this package, the project's folder `plugins`, installed packages.

A file `plugins/methods/centroids.py` is imported as `crossmodal.methods.centroids`, like those of
this package. An installed package names its modules as entry points of the group
`crossmodal.methods`.
"""

import functools
import importlib
import pkgutil
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from crossmodal.errors import CrossmodalError

KINDS = ("datasets", "features", "methods")
FOLDER = "plugins"  # beside params.yaml; nothing is downloaded or pulled into it


def look_in(project: Path) -> None:
    """Take the plug-ins in `plugins/` of a project's folder, and of no other one."""
    for kind in KINDS:
        package = importlib.import_module(f"crossmodal.{kind}")
        package.__path__ = [package.__path__[0], str(project.resolve() / FOLDER / kind)]
    importlib.invalidate_caches()


def modules(kind: str) -> dict[str, str]:
    """Return the module of each plug-in of a kind, by name, sorted.

    Raises:
        CrossmodalError: If two plug-ins have the same name.
    """
    package = importlib.import_module(f"crossmodal.{kind}")
    return _modules(kind, tuple(package.__path__))


@functools.cache  # a plan asks hundreds of times
def _modules(kind: str, folders: tuple[str, ...]) -> dict[str, str]:
    places = [
        (info.name, f"{folder}/{info.name}.py", f"crossmodal.{kind}.{info.name}")
        for folder in folders
        for info in pkgutil.iter_modules([folder])
        if not info.name.startswith("_")  # what several plug-ins share lies beside them
    ]
    places += [(point.name, _place(point), point.module) for point in _entry_points(kind)]
    taken: dict[str, str] = {}
    for name, place, _ in places:
        if name in taken:
            raise CrossmodalError(f"{kind}: {name!r} is {taken[name]} and {place}; rename one")
        taken[name] = place
    return {name: module for name, _, module in sorted(places)}


def sources() -> dict[str, Path]:
    """Return the file of each module of plug-ins outside of this package, by full name."""
    folders, files = [], {}
    for kind in KINDS:
        package = importlib.import_module(f"crossmodal.{kind}")
        folders += [(package.__name__, Path(path)) for path in package.__path__[1:]]
    for top in {p.module.partition(".")[0] for kind in KINDS for p in _entry_points(kind)}:
        spec = find_spec(top)
        folders += [(top, Path(path)) for path in (spec and spec.submodule_search_locations) or ()]
        if spec and spec.origin:
            files[top] = Path(spec.origin)
    for name, folder in folders:
        files |= {_module(name, folder, path): path for path in folder.rglob("*.py")}
    return files


def _module(package: str, folder: Path, path: Path) -> str:
    parts = (package, *path.relative_to(folder).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache  # the installed packages are read for it
def _entry_points(kind: str) -> tuple[EntryPoint, ...]:
    """Return the plug-ins of a kind that installed packages name."""
    points = tuple(entry_points(group=f"crossmodal.{kind}"))
    for point in points:
        if not point.name.isidentifier():
            raise CrossmodalError(f"{_place(point)}: {point.name!r} is no name of a plug-in")
    return points


def _place(point: EntryPoint) -> str:
    package = point.dist.name if point.dist else "an installed package"
    return f"{package} (entry point {point.group})"


look_in(Path())
