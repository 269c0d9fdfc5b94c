"""Lists of the methods, features and tables of params.yaml, with what fits what."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from crossmodal.config import plugins
from crossmodal.config.params import Params, read
from crossmodal.io.text_table import print_table
from crossmodal.learning.method import VECTORS

METHODS = ("method", "takes", "relevance", "random", "GPU", "label", "what")
FEATURES = ("feature", "modality", "rows", "unit", "computed from", "what")
TABLES = ("table", "datasets", "rows", "suites", "title")
RELEVANCE = {"category": "labels", "instance": "pairs"}
YES = {True: "yes", False: "no"}


def methods(path: Path, overlays: Sequence[Path] = ()) -> None:
    """Print a line for each entry of `methods`."""
    params = read(path, *overlays)
    print_table("methods", METHODS, method_rows(params))
    _print_broken(params, "methods")


def features(path: Path, overlays: Sequence[Path] = ()) -> None:
    """Print a line for each entry of `features`."""
    params = read(path, *overlays)
    print_table("features", FEATURES, feature_rows(params))
    _print_broken(params, "features")


def tables(path: Path, overlays: Sequence[Path] = ()) -> None:
    """Print a line for each entry of `tables`."""
    print_table("tables", TABLES, table_rows(read(path, *overlays)))


def _print_broken(params: Params, kind: str) -> None:
    """Say which entries of a section cannot be used, and why."""
    for name in getattr(params, kind):
        if name not in params.usable(kind):
            print(f"{name}: not usable: {params.broken[f'{kind}.{name}']}")


def method_rows(params: Params) -> Iterator[tuple[str, ...]]:
    """Of each method what it takes, what it holds for relevant, whether seeds and a GPU matter."""
    for name in params.usable("methods"):
        method = params.instance("methods", name)
        label = str(params.methods[name].get("label", name))
        facts = (RELEVANCE[method.task], YES[method.random], YES[method.gpu])
        shapes = (f"{m}: {' or '.join(s)}" for m, s in method.takes.items())
        takes = "any: vector" if method.takes == VECTORS else "; ".join(shapes)
        yield name, takes, *facts, label, plugins.summary(type(method))


def feature_rows(params: Params) -> Iterator[tuple[str, ...]]:
    """Of each feature what its rows are, what it is computed from, and what it is."""
    for name in params.usable("features"):
        feature = params.instance("features", name)
        sources = ", ".join(filter(None, [*feature.of, feature.weights]))
        facts = (feature.modality, feature.shape, feature.unit)
        yield name, *facts, sources, plugins.summary(type(feature))


def table_rows(params: Params) -> Iterator[tuple[str, ...]]:
    """Of each table its datasets, number of rows and the suites that show it."""
    for name, table in params.tables.items():
        datasets = dict.fromkeys(params.experiments[e].dataset for e in table.experiments)
        suites = [suite for suite, shown in params.suites.items() if name in shown]
        found = (", ".join(datasets), str(len(table.experiments)), ", ".join(suites))
        yield name, *found, table.title
