"""Sizes of datasets whose papers print too little to say which items are in them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from crossmodal.errors import CrossmodalError
from crossmodal.plugin import Count, Strict


class StatedSizes(Strict):
    """Number of items of each part, validation items included."""

    train: Count
    test: Count


SizesOption = Annotated[
    StatedSizes | None,
    Field(
        description="Items of the training and of the test part, validation items included, where "
        "the official files have others than was inferred; null: as inferred. Tables name them."
    ),
]


@dataclass(frozen=True)
class Sizes:
    """The sizes that `prepare` insists on.

    Args:
        inferred: Number of items of each part, 'train' and 'test', as the papers have it.
        stated: What the user accepts instead, if anything.
        basis: What is inferred, for messages.
    """

    inferred: dict[str, int]
    stated: StatedSizes | None
    basis: str

    @property
    def parts(self) -> dict[str, int]:
        """Return the number of items of each part."""
        return self.stated.model_dump() if self.stated else self.inferred

    def check(self, splits: Iterable[str], part: str, folder: Path) -> None:
        """Compare with what the official labels and tags keep, before any image is read.

        Args:
            splits: Split of each item that is kept.
            part: The part that validation items are taken from.
            folder: The prepared dataset, `data/prepared/<entry of params.yaml>`.

        Raises:
            CrossmodalError: If a part has another size; it says how to accept that.
        """
        sizes = Counter(part if split == "validation" else split for split in splits)
        if sizes != self.parts:
            raise CrossmodalError(
                f"{folder}: the labels and tags keep {_in_words(sizes)} items, but "
                f"{_in_words(self.parts)} are expected; {self.basis}. If the files are the "
                f"official ones, set datasets.{folder.name}.sizes in params.yaml to "
                f"{{train: {sizes['train']}, test: {sizes['test']}}}"
            )

    def departure(self) -> str:
        """Return the sizes and what was inferred, where they differ; else empty."""
        if self.parts == self.inferred:
            return ""
        return f"has {_in_words(self.parts)} items instead of {_in_words(self.inferred)}"


def _in_words(parts: dict[str, int]) -> str:
    return f"{parts['train']:,} training and {parts['test']:,} test"
