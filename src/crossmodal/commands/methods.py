"""List the methods of params.yaml."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from crossmodal.config import plugins
from crossmodal.config.params import Params, read
from crossmodal.io.text_table import print_table
from crossmodal.learning.method import VECTORS

COLUMNS = ("method", "takes", "relevance", "random", "GPU", "label", "summary")
RELEVANCE = {"category": "labels", "instance": "pairs"}
YES = {True: "yes", False: "no"}


def methods(path: Path, overlays: Sequence[Path] = ()) -> None:
    """Print a line for each entry of `methods`."""
    params = read(path, *overlays)
    print_table("methods", COLUMNS, table_rows(params))
    print_broken(params, "methods")


def print_broken(params: Params, kind: str) -> None:
    """Print the entries of a section that cannot be used, with the reason."""
    for name in getattr(params, kind):
        if reason := params.broken.get(f"{kind}.{name}"):
            print(f"{name}: not usable: {reason}")


def table_rows(params: Params) -> Iterator[tuple[str, ...]]:
    """Yield the cells of `COLUMNS` for each usable method."""
    for name in params.usable("methods"):
        method = params.instance("methods", name)
        label = str(params.methods[name].get("label", name))
        facts = (RELEVANCE[method.task], YES[method.random], YES[method.gpu])
        shapes = (f"{m}: {' or '.join(s)}" for m, s in method.takes.items())
        takes = "any: vector" if method.takes == VECTORS else "; ".join(shapes)
        yield name, takes, *facts, label, plugins.summary(type(method))
