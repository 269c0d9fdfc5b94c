import numpy as np
import pytest

from crossmodal.methods._linear.whitening import (
    canonical_directions,
    mean_diagonal,
    principal_directions,
    whitener,
)


@pytest.fixture
def covariance(rng):
    x = rng.standard_normal((6, 30))
    return x @ x.T / 30


@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_whitened_covariance_is_the_identity(covariance, ridge):
    h = whitener(covariance, ridge)
    np.testing.assert_allclose(h.T @ (covariance + ridge * np.eye(6)) @ h, np.eye(6), atol=1e-12)


def test_null_directions_are_left_out_even_with_a_ridge(covariance):
    covariance[2] = covariance[:, 2] = 0
    h = whitener(covariance, 0.1)
    assert h.shape == (6, 5)
    np.testing.assert_allclose(h[2], 0, atol=1e-12)


def test_directions_diagonalise_the_cross_covariance(rng, covariance):
    cross = rng.standard_normal((6, 4))
    a, rho, b = canonical_directions(whitener(covariance, 0.0), cross, np.eye(4))
    np.testing.assert_allclose(a.T @ cross @ b, np.diag(rho), atol=1e-12)
    np.testing.assert_allclose(a.T @ covariance @ a, np.eye(4), atol=1e-12)
    assert (np.diff(rho) <= 0).all()


def test_mean_diagonal():
    assert mean_diagonal(np.array([[1.0, 9.0], [9.0, 4.0]])) == 2.5


@pytest.mark.parametrize(("energy", "kept"), [(0.5, 1), (0.81, 2), (1.0, 3)])
def test_principal_directions_explain_the_energy(rng, energy, kept):
    basis = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    covariance = basis @ np.diag([1.0, 5, 0, 2, 0]) @ basis.T
    directions = principal_directions(covariance, energy)
    np.testing.assert_allclose(
        np.abs(directions.T @ basis[:, [1, 3, 0]][:, :kept]), np.eye(kept), atol=1e-9
    )
