import numpy as np
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.search.best_rows import best_rows


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("rows_per_block", [1, 7, 1000])
@pytest.mark.parametrize("count", [1, 5, 40, 60])
def test_rows_are_those_of_a_stable_sort_of_all_scores(rng, threads, rows_per_block, count):
    queries = rng.integers(-2, 3, (4, 3)).astype(np.float32)
    gallery = rng.integers(-2, 3, (50, 3)).astype(np.float32)  # whole numbers: many ties
    best = best_rows(
        lambda block: queries @ block.T,
        gallery,
        count,
        threads=threads,
        block_bytes=rows_per_block * gallery[0].nbytes,
    )
    everything = queries @ gallery.T
    expected = np.argsort(-everything, axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(best.rows, expected)
    np.testing.assert_array_equal(best.scores, np.take_along_axis(everything, expected, 1))
    np.testing.assert_allclose(best.mean, everything.mean(axis=1))
    np.testing.assert_allclose(best.deviation, everything.std(axis=1))


def test_a_score_that_is_no_number_is_an_error():
    with pytest.raises(CrossmodalError, match="NaN"):
        best_rows(lambda block: block.T, np.array([[1.0], [np.nan]]), 1)
