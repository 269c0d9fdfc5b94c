import numpy as np
import pytest

from crossmodal.learning.pair_selection import first_items, pair_rsum
from crossmodal.learning.selection import selection_score
from crossmodal.methods.frozen import Frozen
from tests.methods.captions import random_captions


class Scoring(Frozen):
    task = "instance"

    def score(self, queries, gallery, direction):
        return queries @ gallery.T


@pytest.mark.parametrize("count", [None, 4, 99])
def test_items_come_with_their_rows_and_labels(make_split, count):
    split = random_captions(make_split, 0, count=10, captions=2)
    first, kept = first_items(split, count), min(count or 10, 10)
    assert first.items == split.items[:kept]
    assert len(first.labels) == kept
    captions, every = first.views["text"], split.views["text"]
    assert captions.items.tolist() == np.arange(kept).repeat(2).tolist()
    assert captions.ids == every.ids[: 2 * kept]
    for row in range(2 * kept):
        assert captions.features[row].tolist() == every.features[row].tolist()
    images = first.views["image"].features
    np.testing.assert_array_equal(images, split.views["image"].features[:kept])


@pytest.mark.parametrize("count", [None, 4])
def test_rsum_is_that_of_both_directions(make_split, rng, count):
    split = make_split({"image": rng.random((9, 3)), "text": rng.random((18, 3))})
    expected = selection_score(Scoring(), first_items(split, count))
    assert pair_rsum(Scoring(), split, count) == pytest.approx(expected)
