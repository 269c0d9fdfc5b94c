import numpy as np
import pytest

from crossmodal.learning.pair_scorer import PairScorer
from crossmodal.learning.selection import selection_score
from crossmodal.methods.frozen import Frozen

FORWARD, BACKWARD = ("image", "text"), ("text", "image")


class Scaled(PairScorer, Frozen):
    """Scores by a scale that it learnt, and counts how often."""

    task = "instance"
    calls = 0

    def scoring_state(self):
        return {"scale": self.scale}

    def restore_scoring(self, state):
        self.scale = state["scale"]

    def score_pairs(self, first, second):
        self.calls += 1
        return first @ (self.scale * second).T


@pytest.fixture
def method():
    scaled = Scaled()
    scaled.restore_scoring({"scale": np.array([2.0])})
    return scaled


def test_both_directions_score_each_pair_once(method, make_split, rng):
    split = make_split({"image": rng.random((9, 3)), "text": rng.random((18, 3))})
    selection_score(method, split)
    assert method.calls == 1


def test_directions_are_transposes_of_each_other(method, rng):
    images, texts = rng.random((4, 3)), rng.random((6, 3))
    expected = 2 * images @ texts.T
    np.testing.assert_allclose(method.score(images, texts, FORWARD), expected)
    np.testing.assert_allclose(method.score(texts, images, BACKWARD), expected.T)


@pytest.mark.parametrize("changed", ["images", "texts", "shape", "scale"])
def test_what_changes_is_scored_anew(method, rng, changed):
    images, texts = rng.random((4, 3)), rng.random((6, 3))
    method.score(images, texts, FORWARD)
    if changed == "images":
        images = images + 1
    elif changed == "texts":
        texts = texts + 1
    elif changed == "shape":
        images = images[:2]
    else:
        method.scale = method.scale + 1
    expected = images @ (method.scale * texts).T
    np.testing.assert_allclose(method.score(texts, images, BACKWARD), expected.T)
