from copy import deepcopy

import numpy as np
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.online import loreta
from crossmodal.online.hinge import Margin
from crossmodal.online.loreta import Factors, Learner, Options, add_rank_one, loreta_step
from crossmodal.online.triplets import draw_triplet, make_sampler

RNG = np.random.default_rng(3)
LABELS = RNG.random((60, 5)) < 0.35
QUERIES = RNG.standard_normal((60, 9))
DOCUMENTS = RNG.standard_normal((60, 7)) / np.sqrt(7)
OPTIONS = Options(rank=3, step_size=0.05, triplets_per_query=4, margin=Margin(2.0, 0.5))


def factors(widths=(9, 7), rank=3, dtype=float, seed=0):
    rng = np.random.default_rng(seed)
    pair = [rng.standard_normal((width, rank)) for width in widths]
    arrays = (*pair, *(np.linalg.pinv(factor).T for factor in pair))
    return Factors(*(np.ascontiguousarray(array, dtype) for array in arrays))


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


def tangent(model, xi):
    """Projection of `xi` on the tangent space of the rank-k manifold at W."""
    inside_a = model.query @ model.query_inverse.T
    inside_b = model.document @ model.document_inverse.T
    return inside_a @ xi + xi @ inside_b - inside_a @ xi @ inside_b


def learner(options=OPTIONS, dtype=float, seed=0):
    return Learner.start(
        QUERIES.astype(dtype),
        DOCUMENTS.astype(dtype),
        make_sampler(LABELS, LABELS),
        options,
        np.random.default_rng(seed),
        dtype,
    )


@pytest.mark.parametrize("pivot", [None, 0.0, 1e-12, 1e-6, 1.0])
def test_inverse_follows_a_rank_one_change_exactly(pivot):
    model, (column, _) = factors(), vectors()
    row = np.random.default_rng(2).standard_normal(3)
    inside = model.query_inverse.T @ column
    if pivot is not None:  # shift row so that 1 + row' A+ column is the pivot
        row += inside * (pivot - 1 - row @ inside) / (inside @ inside)
    expected = model.query + np.outer(column, row)
    add_rank_one(model.query, model.query_inverse, column, row)
    np.testing.assert_allclose(model.query, expected, atol=1e-14)
    np.testing.assert_allclose(model.query_inverse, np.linalg.pinv(expected).T, atol=1e-12)


def test_a_change_that_loses_rank_is_not_finite():
    factor, inverse = np.array([[2.0], [0.0]]), np.array([[0.5], [0.0]])
    add_rank_one(factor, inverse, np.array([-2.0, 0.0]), np.array([1.0]))
    assert not np.isfinite(inverse).all()


def test_step_equals_the_dense_formula():
    model, (p, q) = factors(), vectors()
    expected = dense_step(model.query, model.document, p, q)
    loreta_step(model, p, q)
    np.testing.assert_allclose(model.query, expected[0], atol=1e-11)
    np.testing.assert_allclose(model.document, expected[1], atol=1e-11)
    np.testing.assert_allclose(model.query_inverse, np.linalg.pinv(expected[0]).T, atol=1e-11)
    np.testing.assert_allclose(model.document_inverse, np.linalg.pinv(expected[1]).T, atol=1e-11)


def test_step_is_a_retraction_of_second_order():
    (p, q), constants = vectors(), []
    for t in (1e-1, 3e-2, 1e-2, 3e-3):
        model = factors()
        moved = product(model) + t * tangent(model, np.outer(p, q))
        left, values, right = np.linalg.svd(moved)
        nearest = left[:, :3] * values[:3] @ right[:3]
        loreta_step(model, t * p, q)
        constants.append(np.linalg.norm(product(model) - nearest) / t**3)
    assert max(constants) < 1.5 * min(constants)


def test_a_scalar_may_move_between_the_two_vectors():
    (p, q), model, other = vectors(), factors(), factors()
    loreta_step(model, p, q)
    loreta_step(other, 4 * p, q / 4)
    np.testing.assert_allclose(product(model), product(other), atol=1e-12)


def test_a_small_step_raises_the_gap_by_the_squared_tangent():
    model, (x, difference) = factors(), vectors()
    before, step = x @ product(model) @ difference, 1e-6
    expected = np.linalg.norm(tangent(model, np.outer(x, difference))) ** 2
    loreta_step(model, step * x, difference)
    assert (x @ product(model) @ difference - before) / step == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_inverses_and_rank_hold_for_twenty_thousand_steps(dtype, tolerance):
    model, rng = factors((40, 30), 5, dtype), np.random.default_rng(0)
    for _ in range(20_000):
        p, q = rng.normal(0, 0.03, 40), rng.normal(0, 0.03, 30)
        loreta_step(model, p.astype(dtype), q.astype(dtype))
    A, B, Ap, Bp = model
    np.testing.assert_allclose(Ap.T @ A, np.eye(5), atol=tolerance)
    np.testing.assert_allclose(Bp.T @ B, np.eye(5), atol=tolerance)
    assert np.linalg.matrix_rank((A @ B.T).astype(float), tol=1e-3) == 5


def test_blocks_start_with_exact_inverses():
    model = learner()
    model.advance(loreta.LISTS_PER_BLOCK)
    model.factors.query_inverse[:] = model.factors.document_inverse[:] = 0
    model.advance(1)
    A, B, Ap, Bp = model.factors
    np.testing.assert_allclose(Ap.T @ A, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(Bp.T @ B, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("length", [1, 4])
def test_learning_equals_a_slow_loop_over_the_same_triplets(length):
    fast = learner(Options(3, 0.05, length, Margin(2.0, 0.5)))
    A, B, rng = fast.factors.query.copy(), fast.factors.document.copy(), deepcopy(fast.rng)
    loss, violating = 0, 0
    for step in range(150):
        query, ascent = fast.sampler.queries[rng.integers(0, len(fast.sampler.queries))], 0
        strict = length // 2 if length > 1 else step % 2
        for j in range(length):
            plus, minus = draw_triplet(fast.sampler, query, j < strict, rng)
            difference = DOCUMENTS[plus] - DOCUMENTS[minus]
            unlike = np.abs(LABELS[plus].astype(int) - LABELS[minus]).sum()
            margin = 2 * (0.5 * np.linalg.norm(difference) + 0.5 * unlike)
            hinge = max(0, margin - QUERIES[query] @ A @ B.T @ difference)
            loss += hinge
            violating += hinge > 0
            ascent += (hinge > 0) * difference
        A, B = dense_step(A, B, 0.05 * QUERIES[query], ascent)
    found = fast.advance(150)
    assert 0 < violating < 150 * length
    assert found == pytest.approx((loss / 150 / length, violating / 150 / length))
    np.testing.assert_allclose(fast.factors.query, A, atol=1e-9)
    np.testing.assert_allclose(fast.factors.document, B, atol=1e-9)


def test_an_interrupted_run_equals_an_uninterrupted_one(monkeypatch):
    monkeypatch.setattr(loreta, "LISTS_PER_BLOCK", 64)
    whole, parts = learner(), learner()
    whole.advance(300)
    for lists in (1, 99, 28, 172):
        parts.advance(lists)
    for one, other in zip(whole.factors, parts.factors, strict=True):
        np.testing.assert_array_equal(one, other)


def test_single_precision_stays_close_to_double():
    single, double = learner(dtype=np.float32), learner()
    single.advance(100)
    double.advance(100)
    assert single.factors.query.dtype == single.factors.query_inverse.dtype == np.float32
    np.testing.assert_allclose(product(single.factors), product(double.factors), atol=1e-3)


def test_satisfied_triplets_change_nothing():
    classes = np.eye(3, dtype=bool)[np.arange(30) % 3]
    features = classes.astype(float)
    rng, sampler = np.random.default_rng(0), make_sampler(classes, classes)
    done = Learner.start(features, features, sampler, OPTIONS, rng, np.float64)
    done.factors.query[:] = done.factors.document[:] = 3 * np.eye(3)  # every gap is 9
    assert done.advance(100) == (0, 0)
    np.testing.assert_array_equal(product(done.factors), 9 * np.eye(3))


def test_learning_satisfies_nearly_all_margins_of_separable_classes():
    rng, kinds = np.random.default_rng(0), np.arange(60) % 3
    queries, documents = (np.eye(5)[kinds] + rng.normal(0, 0.05, (60, 5)) for _ in range(2))
    classes = np.eye(3, dtype=bool)[kinds]
    model = Learner.start(
        queries, documents, make_sampler(classes, classes), OPTIONS, rng, np.float64
    )
    assert model.advance(10)[1] > 0.3
    model.advance(5000)
    assert model.advance(500)[1] < 0.01


def test_divergence_names_the_option_to_lower():
    with pytest.raises(CrossmodalError, match=r"step_size 1e\+200: .* lower step_size"):
        learner(Options(3, 1e200, 4, Margin(2.0, 0.5))).advance(50)


def test_a_rank_above_the_features_dimensions_is_an_error():
    with pytest.raises(CrossmodalError, match=r"rank 8 .* 9 dimensions, documents 7; .* <= 7"):
        learner(Options(8, 0.05, 4, Margin(2.0, 0.5)))
