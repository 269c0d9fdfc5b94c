"""Changes of a dataset's categories, to see what a method's success rests on."""

import dataclasses
from typing import Annotated

import numpy as np
from pydantic import Field

from crossmodal.data.prepared import Item
from crossmodal.errors import CrossmodalError, unknown
from crossmodal.plugin import Share, Strict


class Changes(Strict):
    """Changes of the items' categories; the features stay."""

    label: str = Field("", description="What rows call it.")
    classes: list[str] = Field(
        [], description="Categories whose items are kept, in all splits; none named: all."
    )
    imbalance: Annotated[float, Field(ge=1)] = Field(
        1.0,
        description="Ratio of the shares of the first and the last category's training items that "
        "are kept; the others' lie between, in a geometric row.",
    )
    wrong_labels: Share = Field(
        0.0,
        description="Share of the training items that get another category, drawn evenly; "
        "validation and test items keep theirs.",
    )
    seed: int = Field(0, ge=0, description="Seeds what is drawn.")

    def apply(self, items: list[Item], split: str) -> list[Item]:
        """Return the items of a split, changed; in their order.

        Args:
            items: All items of the split.
            split: 'train', 'validation' or 'test'.

        Raises:
            CrossmodalError: If a category does not occur in the split, or fewer than two are left.
        """
        present = sorted({item.category for item in items if item.category})
        for name in self.classes:
            if name not in present:
                raise CrossmodalError(f"changes.classes, split {split!r}: {unknown(name, present)}")
        classes = sorted(self.classes) or present
        if len(classes) < 2:
            raise CrossmodalError(
                f"changes, split {split!r}: items of {len(classes)} categories are left; keep two"
            )
        items = [item for item in items if item.category in classes]
        if split != "train":
            return items
        rng = np.random.default_rng(self.seed)
        return self._mislabelled(self._imbalanced(items, classes, rng), classes, rng)

    def _imbalanced(
        self, items: list[Item], classes: list[str], rng: np.random.Generator
    ) -> list[Item]:
        ids: set[str] = set()
        shares = self.imbalance ** -np.linspace(0, 1, len(classes))
        for name, share in zip(classes, shares, strict=True):
            own = [item.id for item in items if item.category == name]
            ids.update(rng.permutation(own)[: max(1, round(share * len(own)))].tolist())
        return [item for item in items if item.id in ids]

    def _mislabelled(
        self, items: list[Item], classes: list[str], rng: np.random.Generator
    ) -> list[Item]:
        mislabelled = list(items)
        for row in rng.permutation(len(items))[: round(self.wrong_labels * len(items))]:
            others = [name for name in classes if name != items[row].category]
            name = str(rng.choice(others))
            mislabelled[row] = dataclasses.replace(items[row], category=name, labels=(name,))
        return mislabelled
