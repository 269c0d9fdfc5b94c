"""List the features of params.yaml."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from crossmodal.commands.methods import print_broken
from crossmodal.config import plugins
from crossmodal.config.params import Params, read
from crossmodal.io.text_table import print_table

COLUMNS = ("feature", "modality", "shape", "unit", "computed from", "summary")


def features(path: Path, overlays: Sequence[Path] = ()) -> None:
    """Print a line for each entry of `features`."""
    params = read(path, *overlays)
    print_table("features", COLUMNS, table_rows(params))
    print_broken(params, "features")


def table_rows(params: Params) -> Iterator[tuple[str, ...]]:
    """Yield the cells of `COLUMNS` for each usable feature."""
    for name in params.usable("features"):
        feature = params.instance("features", name)
        sources = ", ".join(filter(None, [*feature.of, feature.weights]))
        facts = (feature.modality, feature.shape, feature.unit)
        yield name, *facts, sources, plugins.summary(type(feature))
