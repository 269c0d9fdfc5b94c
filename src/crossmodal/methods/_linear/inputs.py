"""Training rows of a view, scaled and centred, read in blocks."""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from pydantic import Field
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches

from crossmodal.data.learnable import require_labels
from crossmodal.data.split import Split
from crossmodal.plugin import Strict
from crossmodal.vectors import unit_rows

InputNorm = Literal["raw", "zscore", "l2"]
ROWS_PER_BLOCK = 4096


class InputOptions(Strict):
    """Options of the inputs."""

    input_norm: InputNorm = Field(
        description="Scaling of the features: 'raw' none, 'zscore' z-scores of each column by "
        "training statistics, 'l2' rows of unit length."
    )


def row_blocks(count: int) -> Iterator[slice]:
    """Slices of at most `ROWS_PER_BLOCK` rows that cover `count` rows."""
    return gen_batches(count, ROWS_PER_BLOCK)


def normalised(rows: np.ndarray, input_norm: InputNorm) -> np.ndarray:
    """Rows (n, d) in float64, of unit length where `input_norm` is 'l2'."""
    rows = np.asarray(rows, np.float64)
    return unit_rows(rows) if input_norm == "l2" else rows


class Inputs:
    """Standardised training rows of one view; `inputs[rows]` reads some of them in float64.

    Args:
        features: (rows, d), or anything that gives such an array for an index array.
        input_norm: 'raw': the mean is subtracted; 'zscore': and divided by the standard
            deviation; 'l2': rows get unit length, then the mean is subtracted.
        rows: Which rows, in which order, (n,).

    Attributes:
        mean: Mean of the normalised rows, which is subtracted, (d,).
        scale: Divisor of the centred rows, (d,).
    """

    def __init__(self, features: np.ndarray, input_norm: InputNorm, rows: np.ndarray) -> None:
        self.features, self.input_norm, self.rows = features, input_norm, rows
        scaler = StandardScaler(with_std=input_norm == "zscore")
        for block in row_blocks(len(rows)):
            scaler.partial_fit(self._read(block))
        self.mean = scaler.mean_
        self.scale = scaler.scale_ if scaler.with_std else np.ones_like(scaler.mean_)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        return (self._read(rows) - self.mean) / self.scale

    def every(self, dtype: type = float, columns: slice = slice(None)) -> np.ndarray:
        """Some columns of all rows, (n, k); memory is that of the result, and a block."""
        rows = np.empty((len(self), len(self.mean[columns])), dtype)
        for block in row_blocks(len(self)):
            rows[block] = self[block][:, columns]
        return rows

    def project(self, matrix: np.ndarray) -> np.ndarray:
        """Products (n, k) of all rows and a matrix (d, k)."""
        return np.concatenate([self[block] @ matrix for block in row_blocks(len(self))])

    def _read(self, rows: slice | np.ndarray) -> np.ndarray:
        return normalised(self.features[self.rows[rows]], self.input_norm)


def paired_inputs(train: Split, input_norm: InputNorm) -> dict[str, Inputs]:
    """Inputs of both views; equal rows are the pairs of `train.pairs()`.

    Raises:
        CrossmodalError: If there are not two views of one vector per row.
    """
    views = train.two_views()
    _, rows = train.pairs()
    return {m: Inputs(view.vectors(), input_norm, rows[m]) for m, view in views.items()}


def paired_labels(train: Split) -> Inputs:
    """The labels of the pairs as a further view, (n, C), centred.

    Raises:
        CrossmodalError: If labels do not tell items apart.
    """
    require_labels(train)
    owners, _ = train.pairs()
    return Inputs(train.labels, "raw", owners)
