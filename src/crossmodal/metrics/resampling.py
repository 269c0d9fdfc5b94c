"""A bootstrap over test items: all queries of a drawn item, such as an image's captions, count.

The draws of all numbers of a table are one matrix product, of how often each item is drawn and the
sums of its values; the same draws serve all of them, so that differences are paired.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import TypeVar

import numpy as np

Name = TypeVar("Name", bound=Hashable)

DRAWS, SEED = 2000, 0
COVERAGE = (2.5, 97.5)  # percentiles of an interval of 95 %
BLOCK_BYTES = 64 * 2**20


def resampled_means(
    items: Mapping[Name, np.ndarray],
    values: Mapping[Name, np.ndarray],
    *,
    draws: int = DRAWS,
    seed: int = SEED,
) -> dict[Name, np.ndarray]:
    """Return means of values per query over items drawn with replacement.

    Args:
        items: Item of each query, (q,) int, by set of queries; all sets are of the same items.
        values: By set of queries, values (q, c) in columns.
        draws: How many.
        seed: Draws the items.

    Returns:
        By set of queries, (draws, c); fewer where no query of some set is of the drawn items.
    """
    own = np.unique(np.concatenate([*items.values()]))
    sums, counts = {}, {}
    for name, belongs in items.items():
        place = np.searchsorted(own, belongs)
        counts[name] = np.bincount(place, minlength=len(own))
        sums[name] = np.zeros((len(own), values[name].shape[1]))
        np.add.at(sums[name], place, values[name])
    joined = np.hstack([*sums.values(), *(counts[name][:, None] for name in items)])
    totals = np.vstack([drawn @ joined for drawn in _drawn(len(own), draws, seed)])
    edges = np.cumsum([part.shape[1] for part in sums.values()])
    *parts, divisors = np.split(totals, edges, axis=1)
    asked = divisors.all(axis=1)  # of no query there is no mean
    return {name: parts[i][asked] / divisors[asked, i, None] for i, name in enumerate(items)}


def _drawn(items: int, draws: int, seed: int) -> Iterator[np.ndarray]:
    """Yield how often each item is drawn, (some draws, items), in bounded memory."""
    generator = np.random.default_rng(seed)
    size = max(1, BLOCK_BYTES // (8 * items))
    for start in range(0, draws, size):
        rows = min(size, draws - start)
        picks = generator.integers(items, size=(rows, items))
        picks += items * np.arange(rows)[:, None]
        yield np.bincount(picks.ravel(), minlength=rows * items).reshape(rows, items).astype(float)
