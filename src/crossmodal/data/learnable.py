"""Checks that a training split has something to learn from, before training begins."""

import numpy as np

from crossmodal.data.split import Split
from crossmodal.errors import CrossmodalError, listed

SETS_PER_BLOCK = 1024
OTHERWISE = "or take a method that learns from pairs alone, such as `ridge`"


def require_items(train: Split) -> None:
    """Check that there are several items.

    Raises:
        CrossmodalError: If there is one.
    """
    if len(train.items) < 2:
        raise CrossmodalError(
            f"{train.source}: its only training item is {train.items[0]!r}, of which nothing can "
            "be learnt; add some"
        )


def require_labels(train: Split, negatives: bool = False, positives: bool = False) -> None:
    """Check that labels tell training items apart; items without labels do not count.

    Args:
        train: The training split.
        negatives: Whether some two items must have no label in common.
        positives: Whether some two items must have one in common.

    Raises:
        CrossmodalError: If no item has a label, all have the same ones, or there are no such two.
    """
    labels = train.labels[train.labels.any(axis=1)].astype(bool)
    sets = np.unique(labels, axis=0)
    several = f"the {len(labels):,} training items that have any"
    if not len(labels):
        reason = "no training item has one; label them"
    elif len(sets) == 1:
        reason = f"{several} have the same, {_names(train, sets[0])}; name two kinds of items"
    elif negatives and _all_meet(sets):
        names = _names(train, np.asarray(sets.any(axis=0)))
        reason = f"each two of {several} have one in common, of {names}; name two kinds of items"
    elif positives and labels.sum(axis=0).max() == 1:
        reason = f"no two of {several} have one in common; name kinds of items"
    else:
        return
    raise CrossmodalError(
        f"{train.source}: the method learns from labels, but {reason}, {OTHERWISE}"
    )


def _names(train: Split, labels: np.ndarray) -> str:
    """Return the names of some labels (C,)."""
    columns = np.flatnonzero(labels)
    return listed(repr(train.label_names[c]) if train.label_names else str(c) for c in columns)


def _all_meet(sets: np.ndarray) -> bool:
    """Return whether each two sets of labels (s, C) have a label in common."""
    sets = sets.astype(np.float32)
    blocks = (sets[start : start + SETS_PER_BLOCK] for start in range(0, len(sets), SETS_PER_BLOCK))
    return all((block @ sets.T > 0).all() for block in blocks)
