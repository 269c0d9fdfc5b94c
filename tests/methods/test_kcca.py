import numpy as np
import pytest
import scipy.linalg
from sklearn.preprocessing import KernelCenterer

from crossmodal.methods import kcca as module
from crossmodal.methods._linear import kernels
from crossmodal.methods._linear.inputs import Inputs
from crossmodal.methods._linear.kernels import kernel_matrix, rbf_gamma
from crossmodal.methods._linear.whitening import canonical_directions, whitener
from crossmodal.methods.cca import CCA
from crossmodal.methods.kcca import KCCA
from crossmodal.vectors import inner_product

OPTIONS = {
    "dims": 4,
    "kernel": "rbf",
    "width": 1.0,
    "shrinkage": 0.1,
    "landmarks": 1000,
    "input_norm": "raw",
}


def kcca(**options):
    return KCCA(**OPTIONS | options)


def test_linear_kernel_without_shrinkage_is_cca(paired, fitted, scores):
    method = fitted(kcca(kernel="linear", shrinkage=0.0), paired)
    cca = fitted(CCA(dims=4, ridge=0.0, power=0.0), paired)
    expected = cca.arrays["correlations"]
    np.testing.assert_allclose(method.arrays["correlations"], expected, atol=1e-9)
    np.testing.assert_allclose(scores(method, paired), scores(cca, paired), atol=1e-8)


def test_linear_kernel_with_shrinkage_is_cca_with_blended_covariances(paired, fitted, scores):
    x, y = (v - v.mean(axis=0) for v in paired.values())
    whiteners = [whitener(0.7 * v.T @ v / 119, 0.3) for v in (x, y)]
    a, _, b = canonical_directions(whiteners[0], x.T @ y, whiteners[1])
    expected = inner_product(x @ a[:, :4], y @ b[:, :4])
    method = fitted(kcca(kernel="linear", shrinkage=0.3), paired)
    np.testing.assert_allclose(scores(method, paired), expected, atol=1e-9)


def test_quadratic_kernel_in_the_plane_is_cca_of_the_monomials(rng, fitted, scores):
    views = {m: rng.standard_normal((80, 2)) for m in ("image", "text")}
    views["text"][:, 0] += views["image"][:, 0]

    def monomials(x):
        x = x - x.mean(axis=0)
        return np.stack([x[:, 0] ** 2, np.sqrt(2) * x[:, 0] * x[:, 1], x[:, 1] ** 2], axis=1)

    explicit = {m: monomials(x) for m, x in views.items()}
    method = fitted(kcca(kernel="quadratic", shrinkage=0.0, dims=3), views)
    expected = scores(fitted(CCA(dims=3, ridge=0.0, power=0.0), explicit), explicit)
    np.testing.assert_allclose(scores(method, views), expected, atol=1e-8)


def test_agrees_with_the_dual_eigenproblem_of_centred_kernels(paired, fitted, scores):
    c, count = 0.1, 60
    train = {m: x[:count] for m, x in paired.items()}
    centred, cross = [], []
    for x in paired.values():
        view = Inputs(x, "raw", np.arange(count))
        rows = x - view.mean
        kernel = kernel_matrix(rows, rows[:count], "rbf", rbf_gamma(view, 1.0))
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


def test_a_constant_added_to_the_kernel_changes_nothing(paired, fitted, scores, monkeypatch):
    expected = scores(fitted(kcca(), paired), paired)

    def moved(*args):
        return kernel_matrix(*args) + 5

    monkeypatch.setattr(kernels, "kernel_matrix", moved)
    monkeypatch.setattr(module, "kernel_matrix", moved)
    np.testing.assert_allclose(scores(fitted(kcca(), paired), paired), expected, atol=1e-6)


def test_without_shrinkage_training_pairs_of_distinct_points_correlate_perfectly(paired, fitted):
    noise = paired | {"text": paired["text"][::-1]}
    rho = [
        fitted(kcca(shrinkage=c), noise).arrays["correlations"][:100].mean() for c in (1e-9, 0.1)
    ]
    assert rho[0] > 0.999
    assert rho[1] < 0.5


def test_zscores_make_it_free_of_the_units_of_the_columns(paired, fitted, scores, rng):
    rescaled = {m: x * rng.uniform(0.1, 10, x.shape[1]) for m, x in paired.items()}
    expected = scores(fitted(kcca(input_norm="zscore"), paired), paired)
    found = scores(fitted(kcca(input_norm="zscore"), rescaled), rescaled)
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


def test_of_more_dims_than_kernel_features_as_many_are_used(paired, fitted, scores):
    expected = scores(fitted(kcca(kernel="linear", dims=5), paired), paired)
    with pytest.warns(UserWarning, match=r"dims is 6.*only 5"):
        found = scores(fitted(kcca(kernel="linear", dims=6), paired), paired)
    np.testing.assert_array_equal(found, expected)
