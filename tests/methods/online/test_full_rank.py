import numpy as np
import pytest
import torch

from crossmodal.methods._online.full_rank import FullRank, gradient_step
from crossmodal.methods._online.hinge import Margin
from crossmodal.methods._online.loop import Batch, Hyperparameters
from crossmodal.methods._online.triplets import make_sampler

HYPERPARAMETERS = Hyperparameters(0.1, 1, Margin(2.0, 0.5, 0.0))


@pytest.fixture
def triplet(rng):
    """A query, the difference of two documents and weights of any value."""
    return rng.standard_normal(6), rng.standard_normal(4), rng.standard_normal((6, 4))


def test_a_step_raises_the_gap_by_the_squared_lengths(triplet):
    x, difference, weights = triplet
    before = x @ weights @ difference
    gradient_step(weights, 0.1 * x, difference)
    expected = 0.1 * (x @ x) * (difference @ difference)
    assert x @ weights @ difference - before == pytest.approx(expected)


def test_a_step_is_that_of_automatic_differentiation(triplet):
    x, difference, weights = triplet
    exact = torch.tensor(weights, requires_grad=True)
    hinge = (100 - torch.tensor(x) @ exact @ torch.tensor(difference)).clamp(min=0)
    hinge.backward()
    gradient_step(weights, 0.1 * x, difference)
    np.testing.assert_allclose(weights, (exact - 0.1 * exact.grad).detach(), atol=1e-12)


def test_learning_equals_a_loop_over_the_same_triplets(rng):
    labels = np.eye(2, dtype=bool)[[0, 1]]
    queries, documents = rng.standard_normal((2, 6)), rng.standard_normal((2, 4))
    batch = Batch(queries, documents, make_sampler(labels, labels))
    model = FullRank(np.zeros((6, 4)), HYPERPARAMETERS, np.random.default_rng(0))
    twin = np.random.default_rng(0)
    expected, loss = np.zeros((6, 4)), 0
    difference = documents[0] - documents[1]
    margin = 2 * (0.5 * np.linalg.norm(difference) + 0.5 * 2)
    for step in range(30):
        before = twin.bit_generator.state
        _, _, seen = model.learn(batch, (step, step + 1))
        twin.bit_generator.state = before
        query = twin.integers(0, 2)  # of two items, the query alone is random
        signed = difference if query == 0 else -difference
        hinge = max(0, margin - queries[query] @ expected @ signed)
        loss += hinge
        expected += 0.1 * (hinge > 0) * np.outer(queries[query], signed)
        twin.bit_generator.state = model.rng.bit_generator.state
        assert seen == 1
    assert loss > 0
    np.testing.assert_allclose(model.model.weights, expected, atol=1e-12)


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5)])
def test_factors_make_the_weights_at_minimal_rank(rng, shape):
    weights = rng.standard_normal(shape)
    query, document = FullRank(weights, HYPERPARAMETERS, rng).factors()
    np.testing.assert_array_equal(query @ document.T, weights)
    assert query.shape[1] == document.shape[1] == min(shape)
