import numpy as np
import pytest
import scipy.linalg
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer

from crossmodal.methods import kcca as module
from crossmodal.methods._linear import kernels
from crossmodal.methods._linear.inputs import Inputs
from crossmodal.methods._linear.kernels import rbf_gamma
from crossmodal.methods._linear.whitening import canonical_directions, whitener
from crossmodal.methods.cca import CCA
from crossmodal.methods.kcca import KCCA
from crossmodal.vectors import inner_product

OPTIONS = {
    "dims": 4,
    "width": 1.0,
    "shrinkage": 0.1,
    "landmarks": 1000,
    "scaling": "centre",
}


def kcca(**options):
    return KCCA(**OPTIONS | options)


@pytest.fixture
def kernel(monkeypatch):
    """Replace the kernel by a function of two sets of rows."""

    def replace(function):
        for place in (kernels, module):
            monkeypatch.setattr(
                place, "rbf_kernel", lambda x, y=None, gamma=1: function(x, x if y is None else y)
            )

    return replace


def linear(x, y):
    return x @ y.T


def test_linear_kernel_without_shrinkage_is_cca(paired, fitted, scores, kernel):
    kernel(linear)
    method = fitted(kcca(shrinkage=0.0), paired)
    cca = fitted(CCA(dims=4, ridge=0.0, power=0.0), paired)
    expected = cca.arrays["correlations"]
    np.testing.assert_allclose(method.arrays["correlations"], expected, atol=1e-9)
    np.testing.assert_allclose(scores(method, paired), scores(cca, paired), atol=1e-8)


def test_linear_kernel_with_shrinkage_blends_covariances(paired, fitted, scores, kernel):
    kernel(linear)
    x, y = (v - v.mean(axis=0) for v in paired.values())
    whiteners = [whitener(0.7 * v.T @ v / 119, 0.3) for v in (x, y)]
    a, _, b = canonical_directions(whiteners[0], x.T @ y, whiteners[1])
    expected = inner_product(x @ a[:, :4], y @ b[:, :4])
    np.testing.assert_allclose(scores(fitted(kcca(shrinkage=0.3), paired), paired), expected)


def test_agrees_with_the_dual_eigenproblem_of_centred_kernels(paired, fitted, scores):
    c, count = 0.1, 60
    train = {m: x[:count] for m, x in paired.items()}
    centred, cross = [], []
    for x in paired.values():
        view = Inputs(x, "centre", np.arange(count))
        rows = x - view.scaling.mean
        kernel = rbf_kernel(rows, rows[:count], rbf_gamma(view, 1.0))
        centerer = KernelCenterer().fit(kernel[:count])
        centred.append(centerer.transform(kernel[:count]))
        cross.append(centerer.transform(kernel))  # of all 120 rows
    kx, ky = centred
    zero = np.zeros_like(kx)
    left = np.block([[zero, kx @ ky], [ky @ kx, zero]]) / (count - 1)
    blended = [(1 - c) * k @ k / (count - 1) + c * k + 1e-10 * np.eye(count) for k in centred]
    values, vectors = scipy.linalg.eigh(left, scipy.linalg.block_diag(*blended))
    method = fitted(kcca(), train)
    np.testing.assert_allclose(method.arrays["correlations"][:4], values[::-1][:4], atol=1e-6)
    duals = vectors[:, ::-1][:, :4]
    expected = inner_product(cross[0] @ duals[:count], cross[1] @ duals[count:])
    np.testing.assert_allclose(scores(method, paired), expected, atol=1e-5)


def test_constant_added_to_the_kernel_changes_nothing(paired, fitted, scores, kernel):
    kernel(lambda x, y: rbf_kernel(x, y, 0.05) + 5)
    moved = scores(fitted(kcca(), paired), paired)
    kernel(lambda x, y: rbf_kernel(x, y, 0.05))
    expected = scores(fitted(kcca(), paired), paired)
    np.testing.assert_allclose(moved, expected, atol=1e-6)


def test_unregularised_training_pairs_correlate_perfectly(paired, fitted):
    noise = paired | {"text": paired["text"][::-1]}
    rho = [
        fitted(kcca(shrinkage=c), noise).arrays["correlations"][:100].mean() for c in (1e-9, 0.1)
    ]
    assert rho[0] > 0.999
    assert rho[1] < 0.5


def test_zscores_make_it_free_of_the_units_of_the_columns(paired, fitted, scores, rng):
    rescaled = {m: x * rng.uniform(0.1, 10, x.shape[1]) for m, x in paired.items()}
    expected = scores(fitted(kcca(scaling="zscore"), paired), paired)
    found = scores(fitted(kcca(scaling="zscore"), rescaled), rescaled)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_more_landmarks_come_nearer_to_the_exact_scores(paired, fitted, scores):
    exact = scores(fitted(kcca(), paired), paired)
    errors = [
        np.abs(scores(fitted(kcca(landmarks=m), paired), paired) - exact).mean()
        for m in (10, 60, 120)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-9


def test_the_seed_draws_the_landmarks(paired, fitted):
    drawn = [fitted(kcca(landmarks=20), paired, seed=s).arrays["landmarks.text"] for s in (0, 0, 1)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


def test_a_restored_method_embeds_the_same(paired, fitted, scores):
    method, again = fitted(kcca(landmarks=50), paired), kcca(landmarks=50)
    again.restore(method.state(), {})
    np.testing.assert_array_equal(scores(again, paired), scores(method, paired))


def test_dims_beyond_the_kernel_features_are_dropped(paired, fitted, scores, kernel):
    kernel(linear)
    expected = scores(fitted(kcca(dims=5), paired), paired)
    with pytest.warns(UserWarning, match=r"dims is 6.*only 5"):
        result = scores(fitted(kcca(dims=6), paired), paired)
    np.testing.assert_array_equal(result, expected)
