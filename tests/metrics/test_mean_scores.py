import numpy as np
import pytest

from crossmodal.metrics.mean_scores import mean_scores
from crossmodal.metrics.retrieval import Pool


def test_pairs_and_others_are_averaged_apart(rng):
    images = Pool(rng.standard_normal((20, 4)), np.arange(20))
    captions = Pool(rng.standard_normal((60, 4)), np.arange(20).repeat(3))
    scores = images.embeddings @ captions.embeddings.T
    own = images.items[:, None] == captions.items
    expected = scores[own].mean(), scores[~own].mean()
    assert mean_scores(images, captions, scores) == pytest.approx(expected)


def test_without_others_their_mean_is_0():
    one = Pool(np.ones((1, 2)), np.zeros(1))
    assert mean_scores(one, one, np.full((1, 1), 2.0)) == (2, 0)
