"""Sequences step by step, in which a beginning that several share is one."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PrefixStep:
    """The distinct beginnings of one length of the sequences that go on.

    Args:
        steps: Last step of each beginning, (k,).
        parents: Place of each one's own beginning in the `PrefixStep` before, (k,); 0 at first.
        rows: Sequences that go on, (a,).
        places: Place of the beginning of each of these, (a,).
        following: Next step of each of these, (a,).
    """

    steps: np.ndarray
    parents: np.ndarray
    rows: np.ndarray
    places: np.ndarray
    following: np.ndarray


def prefix_steps(ids: np.ndarray, lengths: np.ndarray) -> Iterator[PrefixStep]:
    """Yield the beginnings of length 1, 2 ... of sequences.

    Args:
        ids: Steps, (n, t) int, padded with anything.
        lengths: How many of them are the sequence's, (n,).
    """
    before = np.zeros(len(ids), int)
    for length in range(1, ids.shape[1]):
        rows = (lengths > length).nonzero()[0]
        if not len(rows):
            return
        keys = np.stack([before[rows], ids[rows, length - 1]], 1)
        (parents, steps), places = _distinct(keys)
        before[rows] = places
        yield PrefixStep(steps, parents, rows, places, ids[rows, length])


def _distinct(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows as columns, (c, k), and which of them each row is, (a,)."""
    distinct, places = np.unique(keys, axis=0, return_inverse=True)
    return distinct.T, places.reshape(-1)
