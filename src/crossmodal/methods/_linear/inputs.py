"""Training rows of a view, scaled and centred, read in blocks."""

from typing import Literal, Protocol

import numpy as np
from pydantic import Field

from crossmodal.data.learnable import require_labels
from crossmodal.data.split import Split
from crossmodal.learning.scaling import Scaling, row_blocks
from crossmodal.plugin import Strict

Centred = Literal["centre", "zscore", "l2-centre"]


class InputOptions(Strict):
    """Options of the inputs; linear methods need central moments."""

    scaling: Centred = Field(
        description="Scaling of the features by statistics of the training split: 'centre' zero "
        "mean per column, 'zscore' zero mean and unit variance per column, 'l2-centre' rows of "
        "unit length, then zero mean per column."
    )


class Features(Protocol):
    """Rows (n, d) that are read by their indices."""

    def __getitem__(self, rows: np.ndarray, /) -> np.ndarray: ...


class Inputs:
    """Scaled training rows of one view; `inputs[rows]` reads some of them in float64.

    Args:
        features: All rows of the view.
        scaling: See `InputOptions`.
        rows: Indices of the rows in order, (n,).

    Attributes:
        scaling: The scaling, fitted on these rows.
    """

    def __init__(self, features: Features, scaling: Centred, rows: np.ndarray) -> None:
        self.features, self.rows = features, rows
        self.scaling = Scaling.fit(scaling, (self._read(b) for b in row_blocks(len(rows))))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        return self.scaling.transform(self._read(rows))

    @property
    def width(self) -> int:
        """Return the number d of columns."""
        return len(self.scaling.mean)

    def every(self, dtype: type = float, columns: slice = slice(None)) -> np.ndarray:
        """Return some columns of all rows, (n, k); memory is that of the result, and a block."""
        rows: np.ndarray = np.empty((len(self), len(self.scaling.mean[columns])), dtype)
        for block in row_blocks(len(self)):
            rows[block] = self[block][:, columns]
        return rows

    def project(self, matrix: np.ndarray) -> np.ndarray:
        """Return the products (n, k) of all rows and a matrix (d, k)."""
        return np.concatenate([self[block] @ matrix for block in row_blocks(len(self))])

    def _read(self, rows: slice | np.ndarray) -> np.ndarray:
        return np.asarray(self.features[self.rows[rows]], np.float64)


def paired_inputs(train: Split, scaling: Centred) -> dict[str, Inputs]:
    """Return inputs of both views; equal rows are the pairs of `train.pairs()`.

    Raises:
        CrossmodalError: If there are not two views of one vector per row.
    """
    views = train.two_views()
    _, rows = train.pairs()
    return {m: Inputs(view.vectors(), scaling, rows[m]) for m, view in views.items()}


def paired_labels(train: Split) -> Inputs:
    """Return the centred labels of the pairs as a further view, (n, C).

    Raises:
        CrossmodalError: If labels do not tell items apart.
    """
    require_labels(train)
    owners, _ = train.pairs()
    return Inputs(train.labels, "centre", owners)
