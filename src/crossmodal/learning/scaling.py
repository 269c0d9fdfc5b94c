"""Scaling of features: one option of all methods that learn from triplets or by a ranking loss."""

from typing import Literal

from pydantic import Field

from crossmodal.plugin import Strict

Scaling = Literal["raw", "zscore", "centre-l2", "l2-centre", "zscore-l2"]


class ScalingOptions(Strict):
    """The scaling, by statistics of the training split."""

    scaling: Scaling = Field(
        description="Scaling of the features: 'raw' none; 'zscore' zero mean and unit variance per "
        "column; 'centre-l2' zero mean per column, then rows of unit length; 'l2-centre' the other "
        "way round; 'zscore-l2' z-scores, then rows of unit length."
    )
