"""Values per query of a run, in a compressed file beside its metrics.

Arrays (q,) by `<direction>/<name>`: `ids` and `items` of the queries, the latter shared by the
captions of an image, and each metric in single precision.
"""

import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crossmodal.errors import CrossmodalError
from crossmodal.io.files import DAMAGE, readable, replacing
from crossmodal.metrics.judged import DEPTH
from crossmodal.metrics.retrieval import CUTOFFS, RECALL_DEPTHS

SUFFIX = ".npz"
IDS, ITEMS = "ids", "items"
PRECISIONS = ("AP", *(f"AP@{r}" for r in CUTOFFS), "AP@R")
RECALLS = tuple(f"R@{k}" for k in RECALL_DEPTHS)
JUDGED = {"RR": "MRR", "R-precision": "R-precision", f"nDCG@{DEPTH}": f"nDCG@{DEPTH}"}
RANK = "rank"
DIRECTION = re.compile(r"\w+-to-\w+")
LARGEST = 1 << 30  # bytes of all values: a compressed file could ask for any amount of memory


@dataclass(frozen=True)
class QueryValues:
    """Values of the queries of one direction.

    Args:
        ids: Of the queries, (q,) str.
        items: Item each query belongs to, (q,) int.
        values: By metric as `per_query` and `judged.values_of` name them, each (q,).
    """

    ids: np.ndarray
    items: np.ndarray
    values: Mapping[str, np.ndarray]

    def metrics(self) -> dict[str, np.ndarray]:
        """Return the values (q,) whose means tables show, under the names of tables."""
        means = {f"m{name}": self.values[name] for name in PRECISIONS if name in self.values}
        means |= {name: 100 * self.values[name] for name in RECALLS if name in self.values}
        means |= {metric: self.values[n] for n, metric in JUDGED.items() if n in self.values}
        ranks = self.values.get(RANK, np.array(np.inf))  # inf without a relevant document
        return means | ({"MeanR": ranks} if np.isfinite(ranks).all() else {})


def write_query_values(path: Path, directions: Mapping[str, QueryValues]) -> None:
    """Write the values of each direction atomically.

    Args:
        path: The file, *.npz.
        directions: By name; all values that tables show, and ranks, are written.
    """
    arrays: dict[str, np.ndarray] = {}
    for direction, queries in directions.items():
        arrays |= {f"{direction}/{IDS}": queries.ids, f"{direction}/{ITEMS}": queries.items}
        for name in (*PRECISIONS, *RECALLS, *JUDGED, RANK):
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
        with zipfile.ZipFile(readable(path)) as file:
            size = sum(member.file_size for member in file.infolist())
        if size > LARGEST:
            raise ValueError(f"{size} bytes of values")
        with np.load(path) as file:
            for key in file.files:
                direction, _, name = key.partition("/")
                directions.setdefault(direction, {})[name] = np.asarray(file[key])
        if len(directions) not in (1, 2) or not all(map(DIRECTION.fullmatch, directions)):
            raise ValueError(f"directions {[*directions]}")
        return {name: _query_values(arrays) for name, arrays in directions.items()}
    except DAMAGE as error:
        raise CrossmodalError(
            f"{path}: corrupt or truncated values per query ({error}); delete it and run again"
        ) from error


def _query_values(arrays: dict[str, np.ndarray]) -> QueryValues:
    """Return the values of a direction, whose arrays must have one length and their types."""
    for name, array in arrays.items():
        kinds = {IDS: "U", ITEMS: "iu"}.get(name, "f")
        if array.dtype.kind not in kinds or array.shape != (arrays[ITEMS].size,) or not array.size:
            raise ValueError(f"{name} are {array.dtype} {array.shape}")
    ids, items = arrays.pop(IDS), arrays.pop(ITEMS)
    return QueryValues(ids, items, {name: values.astype(float) for name, values in arrays.items()})
