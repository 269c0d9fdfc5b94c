import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.kernel_approximation import Nystroem

from crossmodal.errors import CrossmodalError
from crossmodal.methods._linear.inputs import Inputs
from crossmodal.methods._linear.kernels import KernelFeatures, kernel_matrix, rbf_gamma

KERNELS = ["rbf", "linear", "quadratic"]


@pytest.fixture
def view(rng):
    return Inputs(rng.standard_normal((40, 3)) + 1, "raw", np.arange(40))


def literal(x, z, kernel, gamma):
    value = {
        "rbf": lambda a, b: np.exp(-gamma * np.sum((a - b) ** 2)),
        "linear": lambda a, b: a @ b,
        "quadratic": lambda a, b: (a @ b) ** 2,
    }[kernel]
    return np.array([[value(a, b) for b in z] for a in x])


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_by_plain_loops(rng, kernel):
    x, z = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    np.testing.assert_allclose(
        kernel_matrix(x, z, kernel, 0.7), literal(x, z, kernel, 0.7), atol=1e-12
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_with_all_rows_as_landmarks_inner_products_are_the_kernel(view, kernel):
    features = KernelFeatures(view, np.arange(40), kernel, 0.3)[np.arange(40)]
    expected = kernel_matrix(view[:40], view[:40], kernel, 0.3)
    np.testing.assert_allclose(features @ features.T, expected, atol=1e-6)


def test_fewer_landmarks_agree_with_scikit_learn(view):
    peer = Nystroem(kernel="rbf", gamma=0.3, n_components=10, random_state=0)
    expected = peer.fit_transform(view[:40])
    features = KernelFeatures(view, peer.component_indices_, "rbf", 0.3)[np.arange(40)]
    np.testing.assert_allclose(features @ features.T, expected @ expected.T, atol=1e-9)


def test_gamma_is_in_units_of_the_mean_squared_distance(view):
    squares = pdist(view[:40], "sqeuclidean").mean() * 39 / 40  # with those of rows to themselves
    assert rbf_gamma(view, 0.3) == pytest.approx(0.3 / squares)


def test_equal_rows_are_refused():
    with pytest.raises(CrossmodalError, match="all rows of a view are equal"):
        rbf_gamma(Inputs(np.ones((4, 2)), "raw", np.arange(4)), 1.0)
