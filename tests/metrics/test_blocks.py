import numpy as np
import pytest

from crossmodal.metrics.blocks import (
    BYTES_PER_RANK,
    BYTES_PER_SCORE,
    STRIP_BYTES,
    over_blocks,
    over_scores,
)

QUERIES, GALLERY = 101, 1000


def numbers(rows):
    return np.arange(rows.start, rows.stop)


@pytest.mark.parametrize("block_bytes", [1, 100_000, 10**7])
def test_blocks_cover_every_query_once_in_order(block_bytes):
    seen = over_blocks(
        lambda rows: {"row": numbers(rows)}, QUERIES, GALLERY, block_bytes=block_bytes
    )
    np.testing.assert_array_equal(seen["row"], np.arange(QUERIES))


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("block_bytes", [1, 100_000, 10**6, 10**7])
def test_every_query_is_measured_once_in_order_with_its_scores(block_bytes, threads):
    blocks, strips = [], []

    def score_rows(rows):
        blocks.append(len(numbers(rows)))
        return np.repeat(numbers(rows)[:, None], GALLERY, axis=1)

    def measure(rows, scores):
        strips.append(len(scores))
        np.testing.assert_array_equal(scores[:, -1], numbers(rows))
        return {"row": scores[:, 0], "pair": scores[:, :2]}

    found = over_scores(
        measure, score_rows, QUERIES, GALLERY, block_bytes=block_bytes, threads=threads
    )
    np.testing.assert_array_equal(found["row"], np.arange(QUERIES))
    assert found["pair"].shape == (QUERIES, 2)
    used = BYTES_PER_SCORE * max(blocks) + BYTES_PER_RANK * max(strips)
    one = BYTES_PER_SCORE + BYTES_PER_RANK  # the least, whatever is asked
    assert used * GALLERY * threads <= block_bytes + one * GALLERY * threads


def test_strips_stay_small_where_blocks_are_large():
    strips = []
    over_scores(
        lambda rows, scores: {"size": np.array([strips.append(scores.shape) or 0])},
        lambda rows: np.zeros((rows.stop - rows.start, 2_000), np.int8),
        1_000,
        2_000,
    )
    assert len(strips) > 1
    assert max(np.prod(shape) for shape in strips) * BYTES_PER_RANK <= STRIP_BYTES
