"""List the entries of a section: methods, features or tables."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from crossmodal.config import plugins
from crossmodal.config.params import Params, read
from crossmodal.io.text_table import print_table
from crossmodal.learning.method import VECTORS

RELEVANCE = {"category": "labels", "instance": "pairs"}
YES = {True: "yes", False: "no"}


def listing(kind: str, path: Path, overlays: Sequence[Path] = ()) -> None:
    """Print a line for each entry of a section, a key of `SECTIONS`, or why it cannot be used."""
    params = read(path, *overlays)
    columns, rows = SECTIONS[kind]
    print_table(kind, columns, rows(params))
    for name in getattr(params, kind):
        if reason := params.broken.get(f"{kind}.{name}"):
            print(f"{name}: not usable: {reason}")


def _methods(params: Params) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each usable method."""
    for name in params.usable("methods"):
        method = params.instance("methods", name)
        label = str(params.methods[name].get("label", name))
        facts = (RELEVANCE[method.task], YES[method.random], YES[method.gpu])
        shapes = (f"{m}: {' or '.join(s)}" for m, s in method.takes.items())
        takes = "any: vector" if method.takes == VECTORS else "; ".join(shapes)
        yield name, takes, *facts, label, plugins.summary(type(method))


def _features(params: Params) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each usable feature."""
    for name in params.usable("features"):
        feature = params.instance("features", name)
        sources = ", ".join(filter(None, [*feature.of, feature.weights]))
        facts = (feature.modality, feature.shape, feature.unit)
        yield name, *facts, sources, plugins.summary(type(feature))


def _tables(params: Params) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each table."""
    for name, table in params.tables.items():
        datasets = dict.fromkeys(params.experiments[e].dataset for e in table.experiments)
        suites = [suite for suite, members in params.suites.items() if name in members]
        rows = str(len(table.experiments))
        yield name, ", ".join(datasets), rows, ", ".join(suites), table.title


SECTIONS = {  # columns, and what yields their cells
    "methods": (("method", "takes", "relevance", "random", "GPU", "label", "summary"), _methods),
    "features": (("feature", "modality", "shape", "unit", "computed from", "summary"), _features),
    "tables": (("table", "datasets", "rows", "suites", "title"), _tables),
}
