import numpy as np
import pytest

from crossmodal.methods._linear import graph
from crossmodal.methods._linear.graph import normalised_adjacency
from crossmodal.methods._linear.inputs import Inputs


@pytest.fixture
def rows(rng):
    return rng.standard_normal((30, 4))


def literal(rows, neighbours):
    distances = np.sqrt(((rows[:, None] - rows) ** 2).sum(axis=2))
    count = len(rows)
    adjacency = np.zeros((count, count))
    for i in range(count):
        nearest = [j for j in np.argsort(distances[i]) if j != i][:neighbours]
        for j in nearest:
            adjacency[i, j] = adjacency[j, i] = 1 / (1 + np.exp(distances[i, j]))
    degrees = adjacency.sum(axis=1)
    return adjacency / np.sqrt(np.outer(degrees, degrees))


@pytest.mark.parametrize("neighbours", [1, 5, 100])
def test_adjacency_by_plain_loops(rows, neighbours):
    found = normalised_adjacency(rows, neighbours).toarray()
    np.testing.assert_allclose(found, literal(rows, neighbours), atol=1e-12)


def test_laplacian_eigenvalues_lie_in_zero_to_two(rows):
    laplacian = np.eye(30) - normalised_adjacency(rows, 4).toarray()
    np.testing.assert_allclose(laplacian, laplacian.T, atol=1e-15)
    values = np.linalg.eigvalsh(laplacian)
    assert values[0] == pytest.approx(0, abs=1e-12)
    assert values[-1] <= 2


def test_equal_rows_are_neighbours(rows):
    rows[1:6] = rows[0]
    found = normalised_adjacency(rows, 3).toarray()
    assert np.isfinite(found).all()
    assert not found.diagonal().any()


def test_smoothed_moments_are_those_of_all_columns_at_once(rng, monkeypatch):
    monkeypatch.setattr(graph, "COLUMNS", 4)
    view = Inputs(rng.standard_normal((20, 10)), "zscore", np.arange(20))
    rows = view[:]
    expected = rows.T @ normalised_adjacency(rows, 3).toarray() @ rows
    np.testing.assert_allclose(graph.smoothed_scatter(view, 3), expected, atol=1e-5)
