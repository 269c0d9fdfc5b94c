"""The validation score of methods whose score of a pair takes long."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from crossmodal.data.feature_file import Ragged
from crossmodal.data.split import Split, View
from crossmodal.learning.method import Method
from crossmodal.learning.selection import pools
from crossmodal.metrics.retrieval import per_query, rsum, summary
from crossmodal.plugin import Count

ValidationItems = Annotated[
    Count | None,
    Field(
        description="Images of the validation split by which the epoch is chosen, the first ones; "
        "null: all of them."
    ),
]


def pair_rsum(method: Method, split: Split, count: int | None) -> float:
    """Return rsum of the first items of a split, for which each pair is scored once.

    Args:
        method: Whose score.
        split: Images and texts.
        count: How many of its items; None: all.
    """
    sides = pools(method, first_items(split, count))
    # labels would cost the time of an mAP
    images, texts = (replace(sides[side], labels=None) for side in ("image", "text"))
    scores = method.score(images.embeddings, texts.embeddings, ("image", "text"))
    return rsum(
        summary(per_query(images, texts, scores.__getitem__), len(texts)),
        summary(per_query(texts, images, scores.T.__getitem__), len(images)),
    )


def first_items(split: Split, count: int | None) -> Split:
    """Return the first items of a split.

    Args:
        split: The split.
        count: How many; None: all.
    """
    count = min(count or len(split.items), len(split.items))
    views = {}
    for modality, view in split.views.items():
        rows = np.arange(np.searchsorted(view.items, count))
        features = view.features
        taken = features.take(rows) if isinstance(features, Ragged) else features[: len(rows)]
        views[modality] = View(taken, view.items[rows], view.ids[: len(rows)], view.meta)
    return replace(split, items=split.items[:count], labels=split.labels[:count], views=views)
