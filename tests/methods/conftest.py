import numpy as np
import pytest

from crossmodal.methods.base import Run

MODALITIES = ("image", "text")


@pytest.fixture
def paired(rng):
    """120 paired rows of widths 7 and 5, correlated through three shared directions."""
    shared = rng.standard_normal((120, 3))
    image = shared @ rng.standard_normal((3, 7)) + rng.standard_normal((120, 7)) + 4
    text = shared @ rng.standard_normal((3, 5)) + rng.standard_normal((120, 5)) - 2
    return {"image": image, "text": text}


@pytest.fixture
def labelled(rng):
    """150 pairs of widths 6 and 5 around the prototypes of four classes, and their labels."""
    kinds = rng.integers(0, 4, 150)
    views = {
        modality: rng.standard_normal((4, width))[kinds] + rng.standard_normal((150, width)) + 3
        for modality, width in zip(MODALITIES, (6, 5), strict=True)
    }
    return views, np.eye(4, dtype=bool)[kinds]


@pytest.fixture
def fitted(make_split):
    """Fit a method on the rows of two views."""

    def fit(method, views, labels=None, seed=0):
        split = make_split(views, labels)
        method.fit(split, split, Run(seed))
        return method

    return fit


@pytest.fixture
def scores(make_split):
    """Scores of all images against all texts."""

    def score(method, views):
        split = make_split(views)
        return method.score(*(method.embed(m, split.views[m]) for m in MODALITIES), MODALITIES)

    return score
