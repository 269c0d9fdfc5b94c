import numpy as np
import pytest

from crossmodal.features._word_vectors import principal_axes, word_vectors


@pytest.mark.parametrize("window", [1, 3])
def test_inner_products_are_the_information_of_neighbours(rng, window):
    captions = [rng.integers(0, 6, length) for length in rng.integers(1, 9, 200)]
    together = np.zeros((6, 6))
    for caption in captions:
        for i, first in enumerate(caption):
            for second in caption[i + 1 : i + 1 + window]:
                together[first, second] += 1
                together[second, first] += 1
    totals = together.sum(0)
    information = np.log(together * together.sum() / np.outer(totals, totals)).clip(min=0)
    left, values, _ = np.linalg.svd(information)
    expected = left * values**0.5
    counts = np.bincount(np.concatenate(captions))
    expected -= counts / counts.sum() @ expected
    found = word_vectors(captions, 6, 6, window)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-8)


def test_words_in_the_same_places_are_alike(rng):
    places = {0: (2, 3), 1: (2, 3), 4: (5, 6)}
    middle = rng.choice([0, 1, 4], 300)
    captions = [np.array([places[word][0], word, places[word][1]]) for word in middle]
    found = word_vectors(captions, 7, 3, window=1)
    distances = np.linalg.norm(found[[1, 4]] - found[0], axis=1)
    assert distances[0] < 0.2 * distances[1]


def test_principal_axes_are_uncorrelated_and_the_widest_first(rng):
    x = rng.standard_normal((50, 4)) @ rng.standard_normal((4, 4)) + 3
    counts = rng.integers(1, 5, 50)
    found = principal_axes(x, counts)
    np.testing.assert_allclose(counts @ found, 0, atol=1e-9)
    covariance = (found.T * counts) @ found
    np.testing.assert_allclose(covariance, np.diag(covariance.diagonal()), atol=1e-9)
    assert (np.diff(covariance.diagonal()) < 0).all()
    distances = [np.linalg.norm(rows[:, None] - rows, axis=2) for rows in (x, found)]
    np.testing.assert_allclose(*distances, atol=1e-9)
