import numpy as np
import pytest
from sklearn.linear_model import MultiTaskLasso

from crossmodal.methods._linear.group_sparse import converged, reweighted_step, row_norms


@pytest.fixture
def problem(rng):
    x = rng.standard_normal((60, 8))
    y = x[:, :3] @ rng.standard_normal((3, 2)) + 0.1 * rng.standard_normal((60, 2))
    return x, y


def test_objective_descends_to_the_multi_task_lasso(problem):
    x, y = problem
    penalty, found, objectives = 8.0, None, []
    for _ in range(300):
        found = reweighted_step(x.T @ x, x.T @ y, penalty, found)
        objectives.append(np.square(x @ found - y).sum() + penalty * row_norms(found).sum())
    assert (np.diff(objectives) <= 1e-9).all()
    peer = MultiTaskLasso(alpha=penalty / 120, fit_intercept=False, tol=1e-12).fit(x, y).coef_.T
    np.testing.assert_allclose(found, peer, atol=1e-3)
    np.testing.assert_array_equal(row_norms(found) < 2e-3, np.linalg.norm(peer, axis=1) == 0)


def test_the_first_step_is_a_ridge_regression(problem):
    x, y = problem
    rows = np.vstack([x, np.sqrt(5) * np.eye(8)])
    expected = np.linalg.lstsq(rows, np.vstack([y, np.zeros((8, 2))]), rcond=None)[0]
    np.testing.assert_allclose(reweighted_step(x.T @ x, x.T @ y, 5.0, None), expected)


def test_a_row_of_zeros_has_a_finite_weight(problem):
    x, y = problem
    step = reweighted_step(x.T @ x, x.T @ y, 1.0, np.zeros((8, 2)))
    assert np.isfinite(step).all()
    assert np.abs(step).max() < 0.1


@pytest.mark.parametrize(
    ("objectives", "expected"),
    [([10.0], False), ([10.0, 9.0], False), ([20.0, 10.0, 9.95], True), ([10.0, 11.0], True)],
)
def test_converged_when_the_objective_hardly_falls(objectives, expected):
    assert converged([{"objective": value} for value in objectives], 0.01) == expected
