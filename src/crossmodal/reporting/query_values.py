"""Values per query of a run, in a compressed file beside its metrics.

Arrays (q,) by `<direction>/<name>`: `ids` and `items` of the queries, the latter shared by the
captions of an image, and each metric in single precision.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import DAMAGE, readable, replacing
from crossmodal.metrics.retrieval import CUTOFFS, RECALL_DEPTHS

SUFFIX = ".npz"
IDS, ITEMS = "ids", "items"
PRECISIONS = ("AP", *(f"AP@{r}" for r in CUTOFFS))
RECALLS = tuple(f"R@{k}" for k in RECALL_DEPTHS)
RANK = "rank"


@dataclass(frozen=True)
class QueryValues:
    """Values of the queries of one direction.

    Args:
        ids: Of the queries, (q,) str.
        items: Item each query belongs to, (q,) int.
        values: By metric as `per_query` names them, each (q,).
    """

    ids: np.ndarray
    items: np.ndarray
    values: Mapping[str, np.ndarray]

    def metrics(self) -> dict[str, np.ndarray]:
        """Return the values (q,) whose means tables show, under the names of tables."""
        means = {f"m{name}": self.values[name] for name in PRECISIONS if name in self.values}
        means |= {name: 100 * self.values[name] for name in RECALLS if name in self.values}
        return means | ({"MeanR": self.values[RANK]} if RANK in self.values else {})


def write_query_values(path: Path, directions: Mapping[str, QueryValues]) -> None:
    """Write the values of each direction atomically.

    Args:
        path: The file, *.npz.
        directions: By name; their average precisions, recalls and ranks are written.
    """
    arrays: dict[str, np.ndarray] = {}
    for direction, queries in directions.items():
        arrays |= {f"{direction}/{IDS}": queries.ids, f"{direction}/{ITEMS}": queries.items}
        for name in (*PRECISIONS, *RECALLS, RANK):
            if name in queries.values:
                arrays[f"{direction}/{name}"] = queries.values[name].astype(np.float32)
    with replacing(path) as temporary:
        np.savez_compressed(temporary, allow_pickle=False, **arrays)


def read_query_values(path: Path) -> dict[str, QueryValues]:
    """Read the values of each direction.

    Raises:
        CrossmodalError: If the file is missing or corrupt.
    """
    directions: dict[str, dict[str, np.ndarray]] = {}
    try:
        with np.load(readable(path)) as file:
            for key in file.files:
                direction, _, name = key.partition("/")
                directions.setdefault(direction, {})[name] = file[key]
        return {
            name: QueryValues(
                arrays.pop(IDS), arrays.pop(ITEMS), {k: v.astype(float) for k, v in arrays.items()}
            )
            for name, arrays in directions.items()
        }
    except DAMAGE as error:
        raise CrossmodalError(
            f"{path}: corrupt or truncated values per query ({error}); delete it and run again"
        ) from error
