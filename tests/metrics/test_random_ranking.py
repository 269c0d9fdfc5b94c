from itertools import combinations

import numpy as np
import pytest

from crossmodal.metrics.random_ranking import precision_error, recall_error
from crossmodal.metrics.ranking import average_precision, recall_at

CASES = [
    (6, 3, None),
    (7, 4, 5),
    (7, 2, 3),
    (9, 4, 4),
    (6, 1, 2),
    (5, 5, None),
    (4, 0, 2),
    (1, 1, 1),
]


def every_ranking(documents, hits):
    """Scores and relevance of one query for each place its hits may have."""
    places = combinations(range(documents), hits)
    relevant = np.array([[rank in hit for rank in range(documents)] for hit in places])
    return np.tile(np.arange(documents, 0, -1.0), (len(relevant), 1)), relevant


@pytest.mark.parametrize(("documents", "hits", "cutoff"), CASES)
def test_precision_error_is_that_over_all_rankings(documents, hits, cutoff):
    values = average_precision(*every_ranking(documents, hits), cutoff)
    error = precision_error(np.array([hits]), np.array([documents]), cutoff)
    assert error == pytest.approx(values.std(), abs=1e-7)
    four = precision_error(np.full(4, hits), np.full(4, documents), cutoff)
    assert four == pytest.approx(error / 2)


@pytest.mark.parametrize(
    ("documents", "hits", "depth"), [(6, 3, 1), (7, 2, 3), (5, 1, 9), (5, 0, 2)]
)
def test_recall_error_is_that_over_all_rankings(documents, hits, depth):
    values = recall_at(depth, *every_ranking(documents, hits))
    error = recall_error(np.array([hits]), documents, depth)
    assert error == pytest.approx(values.std(), abs=1e-9)
