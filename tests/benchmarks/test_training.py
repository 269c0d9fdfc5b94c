"""Each benchmark compares the losses of both loops on a batch before it measures them."""

import pytest

from benchmarks import training


@pytest.mark.parametrize(
    ("measure", "sizes"),
    [
        (training.sh, (8, 8, 256)),
        (training.mh, (8, 8, 256)),
        (training.sam, (400,)),
        (training.vase, (0, 64)),
    ],
)
def test_the_peer_learns_the_same(rng, measure, sizes):
    assert min(measure(*sizes, 1, rng)) > 0


def test_both_embeddings_are_timed(rng):
    assert min(training.mh_embeddings(8, 8, 256, 1, rng)) > 0
