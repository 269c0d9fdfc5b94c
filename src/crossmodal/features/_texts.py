"""Vectors of captions, and of items as wholes or as means of their captions' vectors."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from crossmodal.data.feature import Feature
from crossmodal.data.prepared import Caption, Item, Items
from crossmodal.plugin import Strict
from crossmodal.vectors import unit_rows


class TextFeature(Feature):
    """A vector of each item, with all its captions, or of each caption."""

    class Options(Strict):
        unit: Literal["item", "caption"] = Field(
            description="What a row is: an item with all its captions, or one caption."
        )

    options: Options
    modality = "text"
    reads: ClassVar[tuple[str, ...]] = ("items.csv", "captions.csv")

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.unit = self.options.unit


def encoded(
    dataset: Items,
    rows: Sequence[Item | Caption],
    encode: Callable[[list[str]], np.ndarray],
    unit: bool,
) -> np.ndarray:
    """Return vectors of captions, or of items, float32 (n, width).

    Args:
        dataset: What the rows belong to.
        rows: Captions; or items, each of which is the mean of its captions, zeros without any.
        encode: Maps texts to vectors.
        unit: Whether vectors have length one; then those of items have too.
    """
    captions = [row for row in rows if isinstance(row, Caption)]
    if captions:
        return encode([caption.text for caption in captions])
    texts = [[caption.text for caption in dataset.captions_of[row.id]] for row in rows]
    vectors = encode([text for part in texts for text in part])
    parts = np.split(vectors, np.cumsum([len(part) for part in texts])[:-1])
    means = np.stack([part.sum(0) / max(1, len(part)) for part in parts])
    return unit_rows(means) if unit else means
