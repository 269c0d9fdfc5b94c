from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from sklearn.mixture import GaussianMixture

from crossmodal.features._mixtures import Mixture, fit_mixture, log_likelihood, maximise


@pytest.fixture
def rows(rng):
    """300 rows of three columns in two clusters; the last column has long tails."""
    x = rng.standard_normal((300, 3)) + 4 * (np.arange(300) % 2)[:, None]
    x[:, 2] = rng.laplace(size=300)
    return x


@pytest.fixture
def mixture(rng):
    weights = np.array([0.3, 0.7])
    kinds = np.array([[True, False, True], [False, False, True]])
    return Mixture(weights, rng.standard_normal((2, 3)), rng.uniform(0.5, 2, (2, 3)), kinds)


def test_densities_are_those_of_scipy(mixture, rows):
    expected = np.zeros((len(rows), 2))
    for k in range(2):
        for d in range(3):
            kind = stats.laplace if mixture.laplacian[k, d] else stats.norm
            expected[:, k] += kind.logpdf(rows[:, d], mixture.centres[k, d], mixture.scales[k, d])
    np.testing.assert_allclose(mixture.log_densities(rows), expected + np.log(mixture.weights))


def test_gaussians_are_those_of_sklearn(rows):
    start = maximise(rows, np.eye(2)[(rows[:, 0] > 1).astype(int)], hybrid=False)
    oracle = GaussianMixture(
        n_components=2,
        covariance_type="diag",
        weights_init=start.weights,
        means_init=start.centres,
        precisions_init=start.scales**-2,
        reg_covar=0,
        tol=0,
        max_iter=20,
    )
    with pytest.warns(UserWarning, match="did not converge"):
        oracle.fit(rows)
    found = start
    for _ in range(20):
        found = maximise(rows, found.responsibilities(rows), hybrid=False)
    np.testing.assert_allclose(found.centres, oracle.means_, rtol=1e-8)
    np.testing.assert_allclose(found.scales**2, oracle.covariances_, rtol=1e-8)
    assert log_likelihood(found, rows) == pytest.approx(oracle.score(rows))


@pytest.mark.parametrize("hybrid", [False, True])
def test_the_likelihood_never_falls(rows, rng, hybrid):
    found = maximise(rows, rng.dirichlet(np.ones(4), len(rows)), hybrid)
    seen = [log_likelihood(found, rows)]
    for _ in range(30):
        found = maximise(rows, found.responsibilities(rows), hybrid)
        seen.append(log_likelihood(found, rows))
    assert (np.diff(seen) > -1e-12).all()
    assert seen[-1] > seen[0]


def test_a_hybrid_is_at_least_as_likely_and_finds_long_tails(rows):
    found = [fit_mixture(rows, 2, hybrid, 50, seed=0) for hybrid in (False, True)]
    assert log_likelihood(found[1], rows) > log_likelihood(found[0], rows)
    assert found[1].laplacian[:, 2].all()
    assert not found[1].laplacian[:, :2].any()
    assert not found[0].laplacian.any()
    assert sorted(found[1].centres[:, 0].round()) == [0, 4]


def test_gradients_are_those_of_the_log_likelihood(mixture, rows):
    step, found = 1e-6, mixture.gradients(rows).reshape(len(rows), 2, 2, 3)  # n, K, part, d
    for part, name in enumerate(("centres", "scales")):
        for k, d in np.ndindex(2, 3):
            shift = np.zeros((2, 3))
            shift[k, d] = step
            ends = [
                logsumexp(
                    replace(mixture, **{name: getattr(mixture, name) + sign * shift}).log_densities(
                        rows
                    ),
                    axis=1,
                )
                for sign in (1, -1)
            ]
            gaussian_scale = name == "scales" and not mixture.laplacian[k, d]
            deviation = (2 * mixture.weights[k]) ** 0.5 if gaussian_scale else None
            deviation = deviation or mixture.weights[k] ** 0.5
            expected = (ends[0] - ends[1]) / (2 * step) * mixture.scales[k, d] / deviation
            np.testing.assert_allclose(found[:, k, part, d], expected, atol=1e-5)


@pytest.mark.parametrize("kind", [False, True])
def test_gradients_of_drawn_rows_have_mean_0_and_variance_1(rng, kind):
    draw = rng.laplace if kind else rng.normal
    one = Mixture(np.ones(1), np.full((1, 2), 3.0), np.full((1, 2), 0.5), np.full((1, 2), kind))
    found = one.gradients(draw(3, 0.5, (100_000, 2)))
    np.testing.assert_allclose(found.mean(0), 0, atol=0.02)
    np.testing.assert_allclose(found.std(0), 1, atol=0.02)
