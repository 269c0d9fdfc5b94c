from dataclasses import replace

import numpy as np
import pytest
import torch

from crossmodal.data.feature_file import Ragged
from crossmodal.images.crops import Preparation
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.pretrained.backbones import NETWORKS

MODALITIES = ("image", "text")


@pytest.fixture
def with_small_crops(monkeypatch):
    """Let an image network see 32 pixels, not those it was made for, for the sake of time."""

    def shrink(name):
        small = replace(NETWORKS[name], preparation=Preparation(crop=32))
        monkeypatch.setitem(NETWORKS, name, small)

    return shrink


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


@pytest.fixture
def classes(make_split):
    """Make splits of 120 pairs around the prototypes of four classes, the same in all splits."""
    widths = dict(zip(MODALITIES, (8, 6), strict=True))
    rng = np.random.default_rng(0)
    prototypes = {m: 1.5 * rng.standard_normal((4, width)) for m, width in widths.items()}

    def make(seed, count=120):
        rng = np.random.default_rng([1, seed])
        kinds = np.arange(count) % 4
        views = {
            m: p[kinds] + rng.standard_normal((count, widths[m])) for m, p in prototypes.items()
        }
        return make_split(views, np.eye(4)[kinds])

    return make


@pytest.fixture
def placed():
    """Give a method an untrained network for a split, ready for the first batch."""

    def place(method, split):
        torch.manual_seed(0)
        method.classes = split.labels.shape[1]
        method.network = method.build(split.views)
        method.place(split)
        return method

    return place


@pytest.fixture
def without_rows():
    """Views as a model folder has them: what they are, and no rows."""

    def empty(view):
        sequences = isinstance(view.features, Ragged)
        features = view.features.take(np.arange(0)) if sequences else view.features[:0]
        return replace(view, features=features, items=view.items[:0], ids=[])

    return lambda views: {modality: empty(view) for modality, view in views.items()}


@pytest.fixture
def assert_learns(classes, keep_last, without_rows):
    """Unseen items of the same classes are found, and a restored method embeds like the fitted."""

    def check(make, mean_average_precision):
        fitted, restored, test = make(), make(), classes(2)
        fitted.fit(classes(0), classes(1), Run(seed=0))
        assert selection_score(fitted, test) > mean_average_precision
        restored.restore(fitted.state(), without_rows(test.views))
        for modality, view in test.views.items():
            expected = fitted.embed(modality, view)
            np.testing.assert_array_equal(restored.embed(modality, view), expected)

    return check
