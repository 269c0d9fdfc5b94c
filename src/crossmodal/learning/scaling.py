"""Scaling of features by statistics of the training split."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal, Self, TypeVar

import numpy as np
from pydantic import Field

from crossmodal.plugin import Strict
from crossmodal.vectors import unit_rows

if TYPE_CHECKING:  # methods without a network do not wait for PyTorch
    import torch

Kind = Literal[
    "raw", "centre", "centre-scale", "zscore", "l2", "centre-l2", "l2-centre", "zscore-l2"
]
Array = TypeVar("Array", np.ndarray, "torch.Tensor")

ROWS_PER_BLOCK = 4096


class ScalingOptions(Strict):
    """Options of the scaling of both views."""

    scaling: Kind = Field(
        description="Scaling of the features by statistics of the training split: 'raw' none; "
        "'centre' zero mean per column; 'centre-scale' the same, then all columns divided by one "
        "number, so that their mean variance is 1; 'zscore' zero mean and unit variance per "
        "column; 'l2' rows of unit length; 'centre-l2', 'zscore-l2' and 'l2-centre' one step after "
        "the other."
    )


def row_blocks(count: int) -> Iterator[slice]:
    """Return slices of at most `ROWS_PER_BLOCK` rows that cover `count` rows."""
    return (
        slice(start, min(start + ROWS_PER_BLOCK, count))
        for start in range(0, count, ROWS_PER_BLOCK)
    )


class Scaling:
    """A fitted scaling of the rows of one view.

    Args:
        kind: See `ScalingOptions`.
        mean: What is subtracted, (d,); its precision is that of scaled rows.
        scale: What they are divided by then, (d,).
    """

    def __init__(self, kind: Kind, mean: np.ndarray, scale: np.ndarray) -> None:
        self.kind, self.mean, self.scale = kind, mean, scale

    @classmethod
    def fit(cls, kind: Kind, blocks: Iterable[np.ndarray]) -> Self:
        """Take the statistics, in float64, from blocks of training rows (n, d)."""
        from sklearn.preprocessing import StandardScaler  # seconds, which `embed` need not wait for

        scaler = StandardScaler(with_std=divides(kind))
        for block in blocks:
            scaler.partial_fit(begin(kind, _floats(block), unit_rows))
        mean = scaler.mean_ if subtracts(kind) else np.zeros_like(scaler.mean_)
        scale = scaler.scale_ if divides(kind) else np.ones_like(mean)
        if kind == "centre-scale":
            scale = np.full_like(mean, np.sqrt(scaler.var_.mean()) or 1)
        return cls(kind, mean, scale)

    def transform(self, rows: np.ndarray) -> np.ndarray:
        """Return scaled rows (n, d); zero rows stay zero where they get unit length."""
        rows = np.asarray(rows, self.mean.dtype)
        return transformed(self.kind, rows, self.mean, self.scale, unit_rows)

    def astype(self, dtype: type[np.floating]) -> Self:
        """Return the same scaling in another precision."""
        return type(self)(self.kind, self.mean.astype(dtype), self.scale.astype(dtype))

    def state(self) -> dict[str, np.ndarray]:
        """Return the statistics by the names of the arguments."""
        return {"mean": self.mean, "scale": self.scale}


def subtracts(kind: Kind) -> bool:
    """Return whether a scaling subtracts the mean."""
    return kind not in ("raw", "l2")


def divides(kind: Kind) -> bool:
    """Return whether a scaling divides by deviations."""
    return kind.startswith("zscore") or kind == "centre-scale"


def begin(kind: Kind, rows: Array, unit: Callable[[Array], Array]) -> Array:
    """Return the rows of which statistics are taken."""
    return unit(rows) if kind.startswith("l2") else rows


def transformed(
    kind: Kind, rows: Array, mean: Array, scale: Array, unit: Callable[[Array], Array]
) -> Array:
    """Return scaled rows (n, d), by the function that gives rows unit length."""
    rows = (begin(kind, rows, unit) - mean) / scale
    return unit(rows) if kind.endswith("-l2") else rows


def _floats(rows: np.ndarray) -> np.ndarray:
    """Return integers, such as codes of a byte, as float64, so that their squares are right."""
    return rows if np.issubdtype(rows.dtype, np.floating) else rows.astype(np.float64)
