"""Datasets that are published in a training and a test part, without a validation part."""

from typing import ClassVar

from pydantic import Field

from crossmodal.data.dataset import Dataset
from crossmodal.data.held_out import HeldOut
from crossmodal.datasets._sizes import Sizes, SizesOption
from crossmodal.plugin import Count, Strict


class TwoParts(Dataset):
    """Validation items are drawn from the training part.

    Attributes:
        parts: Published number of items of each part.
        basis: What is inferred of them, in a clause.
        sizes: Number of items of each part.
        held_out: The validation items.
    """

    class Options(Strict):
        validation: Count = Field(
            description="Number of validation items, drawn from the training part."
        )
        seed: int = Field(ge=0, description="Seed of the draw.")
        sizes: SizesOption = None

    options: Options
    parts: ClassVar[dict[str, int]]
    basis: ClassVar[str]

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.sizes = Sizes(self.parts, self.options.sizes, self.basis)
        size, available = self.options.validation, self.sizes.parts["train"]
        if size >= available:
            raise ValueError(f"validation is {size}, but the training part has {available} items")
        self.held_out = HeldOut(self.sizes.parts, size, self.options.seed)

    def counts(self) -> dict[str, int]:
        """Return published counts, with validation items taken out of the training part."""
        return self.held_out.counts()

    def departure(self) -> str:
        """See `Dataset.departure`."""
        return self.sizes.departure()
