import numpy as np
import pytest

from crossmodal.training.pairs import draw_pairs

OWNERS = np.array([0, 0, 1, 2, 2, 2, 3, 4, 4])
LENGTHS = np.array([50, 7, 16, 33, 64, 1, 95, 80, 130])


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_every_caption_with_its_image(rng, lengths):
    batches = draw_pairs(OWNERS, "all", 3, rng, lengths)
    images, captions = (
        np.concatenate(rows) for rows in zip(*(b[:2] for b in batches), strict=True)
    )
    assert sorted(captions) == list(range(len(OWNERS)))
    np.testing.assert_array_equal(images, OWNERS[captions])


def test_one_caption_of_every_image(rng):
    drawn = set()
    for _ in range(40):
        [(images, captions, _)] = draw_pairs(OWNERS, "one", 5, rng)
        assert sorted(images) == list(range(5))
        np.testing.assert_array_equal(images, OWNERS[captions])
        drawn |= {*captions}
    assert drawn == set(range(len(OWNERS)))


def test_last_batch_of_one_pair_dropped(rng):
    assert [len(batch.captions) for batch in draw_pairs(OWNERS, "all", 4, rng)] == [4, 4]


def test_lengths_similar_within_batches(rng):
    owners, lengths = np.arange(64), rng.permutation(64)
    for batch in draw_pairs(owners, "all", 8, rng, lengths):
        assert np.ptp(lengths[batch.captions]) == 7
