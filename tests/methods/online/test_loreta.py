from copy import deepcopy

import numpy as np
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.methods._online.hinge import Margin
from crossmodal.methods._online.learner import LISTS_PER_BLOCK
from crossmodal.methods._online.loop import Batch, Hyperparameters
from crossmodal.methods._online.loreta import Factors, LowRank, loreta_step, update_inverse
from crossmodal.methods._online.triplets import draw_triplet, make_sampler

RNG = np.random.default_rng(3)
LABELS = RNG.random((60, 5)) < 0.35
QUERIES = RNG.standard_normal((60, 9))
DOCUMENTS = RNG.standard_normal((60, 7)) / np.sqrt(7)
BATCH = Batch(QUERIES, DOCUMENTS, make_sampler(LABELS, LABELS))
HYPERPARAMETERS = Hyperparameters(0.05, 4, Margin(2.0, 0.5, 0.0))


def factors(widths=(9, 7), rank=3, seed=0):
    rng = np.random.default_rng(seed)
    pair = [rng.standard_normal((width, rank)) for width in widths]
    return Factors(*pair, *(np.linalg.inv(factor.T @ factor) for factor in pair))


def pseudo_inverses(model):
    return model.query_inverse @ model.query.T, model.document_inverse @ model.document.T


def vectors(seed=1):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(9), rng.standard_normal(7)


def product(model):
    return model.query @ model.document.T


def dense_step(A, B, p, q):
    """The new factors by full matrices and exact pseudo-inverses."""
    xi, Ap, Bp = np.outer(p, q), np.linalg.pinv(A), np.linalg.pinv(B)
    M, I = Ap @ xi @ Bp.T, np.eye(A.shape[1])  # noqa: E741
    outside_a, outside_b = np.eye(len(A)) - A @ Ap, np.eye(len(B)) - B @ Bp
    new_a = A @ (I + M / 2 - M @ M / 8) + outside_a @ xi @ Bp.T @ (I - M / 2)
    new_b = B @ (I + M.T / 2 - M.T @ M.T / 8) + outside_b @ xi.T @ Ap.T @ (I - M.T / 2)
    return new_a, new_b


def step(model, p, q):
    loreta_step(model, p, q, model.query.T @ p)


def tangent(model, xi):
    """Projection of `xi` on the tangent space of the rank-k manifold at W."""
    inside_a, inside_b = (
        factor @ inverse for factor, inverse in zip(model[:2], pseudo_inverses(model), strict=True)
    )
    return inside_a @ xi + xi @ inside_b - inside_a @ xi @ inside_b


def learner(hyperparameters=HYPERPARAMETERS, dtype=float, seed=0, kind=LowRank):
    return kind.start((9, 7), 3, hyperparameters, np.random.default_rng(seed), dtype)


@pytest.mark.parametrize("pivot", [None, 0.0, 1e-12, 1e-6, 1.0])
def test_inverse_follows_a_rank_one_change_exactly(pivot):
    model, (column, _) = factors(), vectors()
    row = np.random.default_rng(2).standard_normal(3)
    inside = pseudo_inverses(model)[0] @ column
    if pivot is not None:  # shift row so that 1 + row' A+ column is the pivot
        row += inside * (pivot - 1 - row @ inside) / (inside @ inside)
    outside = column - model.query @ inside
    update_inverse(model.query_inverse, inside, row, outside @ outside)
    expected = model.query + np.outer(column, row)
    np.testing.assert_allclose(
        model.query_inverse, np.linalg.inv(expected.T @ expected), atol=1e-12
    )


def test_a_change_that_loses_rank_is_not_finite():
    inverse = np.array([[0.25]])  # of the factor [2, 0]
    update_inverse(inverse, np.array([-1.0]), np.array([1.0]), 0.0)
    assert not np.isfinite(inverse).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("widths", "rank"), [((9, 7), 3), ((5, 5), 5), ((40, 3), 1)])
def test_step_equals_the_dense_formula(widths, rank, seed):
    model, rng = factors(widths, rank, seed), np.random.default_rng(seed + 10)
    p, q = (rng.standard_normal(width) for width in widths)
    expected = dense_step(model.query, model.document, p, q)
    step(model, p, q)
    for found, exact in zip(model[:2], expected, strict=True):
        np.testing.assert_allclose(found, exact, atol=1e-10)
    if np.linalg.cond(expected[0]) < 100 and np.linalg.cond(expected[1]) < 100:
        for found, exact in zip(pseudo_inverses(model), expected, strict=True):
            np.testing.assert_allclose(found, np.linalg.pinv(exact), atol=1e-10)


def test_step_is_a_retraction_of_second_order():
    (p, q), constants = vectors(), []
    for t in (1e-1, 3e-2, 1e-2, 3e-3):
        model = factors()
        moved = product(model) + t * tangent(model, np.outer(p, q))
        left, values, right = np.linalg.svd(moved)
        nearest = left[:, :3] * values[:3] @ right[:3]
        step(model, t * p, q)
        constants.append(np.linalg.norm(product(model) - nearest) / t**3)
    assert max(constants) < 1.5 * min(constants)


def test_a_scalar_may_move_between_the_two_vectors():
    (p, q), model, other = vectors(), factors(), factors()
    step(model, p, q)
    step(other, 4 * p, q / 4)
    np.testing.assert_allclose(product(model), product(other), atol=1e-12)


def test_product_step_is_equal_for_balanced_factors():
    model, (p, q) = factors(), vectors()
    balanced = LowRank(model.query.copy(), model.document.copy(), HYPERPARAMETERS, None).model
    np.testing.assert_allclose(product(balanced), product(model), atol=1e-12)
    gram = balanced.query.T @ balanced.query
    np.testing.assert_allclose(gram, balanced.document.T @ balanced.document, atol=1e-12)
    np.testing.assert_allclose(gram, np.diag(np.diagonal(gram)), atol=1e-12)
    step(model, p, q)
    step(balanced, p, q)
    np.testing.assert_allclose(product(balanced), product(model), atol=1e-11)


def test_a_small_step_raises_the_gap_by_the_squared_tangent():
    model, (x, difference) = factors(), vectors()
    before, size = x @ product(model) @ difference, 1e-6
    expected = np.linalg.norm(tangent(model, np.outer(x, difference))) ** 2
    step(model, size * x, difference)
    assert (x @ product(model) @ difference - before) / size == pytest.approx(expected, rel=1e-3)


class Watched(LowRank):
    """Notes how far the pseudo-inverses are off whenever a block begins."""

    def begin_block(self):
        if self.lists:
            for found, factor in zip(pseudo_inverses(self.model), self.model[:2], strict=True):
                assert np.linalg.matrix_rank(factor) == factor.shape[1]
                exact = np.linalg.pinv(factor.astype(float))
                self.drift = max(self.drift, abs(found - exact).max() / abs(exact).max())
        else:
            self.drift = 0
        super().begin_block()


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-4)])
def test_inverses_and_rank_hold_for_a_hundred_thousand_steps(dtype, tolerance):
    hyperparameters = Hyperparameters(0.05, 1, Margin(2.0, 0.5, 1e6))  # each triplet makes a step
    model = learner(hyperparameters, dtype, kind=Watched)
    assert model.partial_fit(BATCH, 100_001)[1] == 1
    assert 0 < model.drift < tolerance
    values = np.linalg.svd(product(model.model).astype(float), compute_uv=False)
    assert values[2] > 1e-3 > values[3] / values[0]


def test_blocks_start_with_exact_inverses():
    model = learner()
    model.partial_fit(BATCH, LISTS_PER_BLOCK)
    model.model.query_inverse[:] = model.model.document_inverse[:] = 0
    model.partial_fit(BATCH, 1)
    for found, factor in zip(pseudo_inverses(model.model), model.model[:2], strict=True):
        np.testing.assert_allclose(found @ factor, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("length", [1, 4])
def test_learning_equals_a_slow_loop_over_the_same_triplets(length):
    fast = learner(Hyperparameters(0.05, length, Margin(2.0, 0.5, 0.1)))
    A, B, rng = fast.model.query.copy(), fast.model.document.copy(), deepcopy(fast.rng)
    sampler, loss, violating = BATCH.sampler, 0, 0
    for step in range(150):
        query, ascent = sampler.queries[rng.integers(0, len(sampler.queries))], 0
        strict = length // 2 if length > 1 else step % 2
        for j in range(length):
            plus, minus = draw_triplet(sampler, query, j < strict, rng)
            difference = DOCUMENTS[plus] - DOCUMENTS[minus]
            unlike = np.abs(LABELS[plus].astype(int) - LABELS[minus]).sum()
            margin = 0.1 + 2 * (0.5 * np.linalg.norm(difference) + 0.5 * unlike)
            hinge = max(0, margin - QUERIES[query] @ A @ B.T @ difference)
            loss += hinge
            violating += hinge > 0
            ascent += (hinge > 0) * difference
        A, B = dense_step(A, B, 0.05 * QUERIES[query], ascent)
    found = fast.partial_fit(BATCH, 150)
    assert 0 < violating < 150 * length
    assert found == pytest.approx((loss / 150 / length, violating / 150 / length))
    np.testing.assert_allclose(product(fast.model), A @ B.T, atol=1e-9)


def test_single_precision_stays_close_to_double():
    single, double = learner(dtype=np.float32), learner()
    single.partial_fit(BATCH, 100)
    double.partial_fit(BATCH, 100)
    assert single.model.query.dtype == single.model.document.dtype == np.float32
    np.testing.assert_allclose(product(single.model), product(double.model), atol=1e-3)


def test_a_rank_above_the_features_dimensions_is_an_error():
    with pytest.raises(CrossmodalError, match=r"rank 8 .* 9 dimensions, documents 7; .* <= 7"):
        LowRank.start((9, 7), 8, HYPERPARAMETERS, np.random.default_rng(0))
