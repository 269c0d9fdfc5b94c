from dataclasses import replace

import numpy as np
import pytest

from crossmodal.data.learnable import require_items, require_labels
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from tests.project_params import PARAMS

NEGATIVES = ("sam", "cmolrs", "fast_cmolrs", "full_sgd", "lrbs", "pl_ranking")
OTHERS = ("acmr", "ccl", "cmdn", "deep_sm", "three_view_cca", "ml_cca", "lgcfl", "jrl", "gmlda")
ONE_KIND = np.ones((20, 1))
MEETING = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 0, 0]] * 5)
OWN = np.eye(20)


@pytest.fixture
def split(make_split, rng):
    """Twenty items with labels named a, b, ..."""

    def make(labels):
        views = {"image": rng.standard_normal((20, 12)), "text": rng.standard_normal((20, 11))}
        names = tuple("abcdefghijklmnopqrst"[: labels.shape[1]])
        return replace(make_split(views, labels), label_names=names, source="data/prepared/mine")

    return make


@pytest.mark.parametrize("name", NEGATIVES + OTHERS)
def test_one_label_is_refused_before_training(split, name):
    train = split(ONE_KIND)
    expected = (
        r"data/prepared/mine: .* learns from labels, but the 20 training items that have any have "
        r"the same, 'a'; name two kinds of items, or take a method that learns from pairs alone"
    )
    with pytest.raises(CrossmodalError, match=expected):
        PARAMS.instance("methods", name).fit(train, train, Run(0))


@pytest.mark.parametrize("name", NEGATIVES)
def test_items_that_all_have_labels_in_common_are_refused(split, name):
    train = split(MEETING)
    expected = r"each two of the 15 training items that have any have one in common, of 'a', 'b', "
    with pytest.raises(CrossmodalError, match=expected):
        PARAMS.instance("methods", name).fit(train, train, Run(0))


def test_gmlda_needs_two_items_of_a_label(split):
    train = split(OWN)
    with pytest.raises(CrossmodalError, match=r"no two of the 20 training items .* in common"):
        PARAMS.instance("methods", "gmlda").fit(train, train, Run(0))


@pytest.mark.parametrize("blocks", [1, 2, 1024])
def test_labels_that_tell_items_apart_are_enough(split, monkeypatch, blocks):
    monkeypatch.setattr("crossmodal.data.learnable.SETS_PER_BLOCK", blocks)
    require_labels(split(MEETING), positives=True)
    require_labels(split(OWN), negatives=True)
    apart = np.concatenate([MEETING, [[1, 0, 0]]])[1:]  # the last one has none of 'b' and 'c'
    require_labels(split(apart), negatives=True, positives=True)
    require_labels(split(np.eye(2)[np.arange(20) % 2]), negatives=True, positives=True)


def test_a_single_training_item_is_refused_by_name(split):
    train = split(OWN)
    require_items(train)
    with pytest.raises(CrossmodalError, match="data/prepared/mine: its only training item is 'x'"):
        require_items(replace(train, items=["x"]))
