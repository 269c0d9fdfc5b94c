import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from sklearn.kernel_approximation import Nystroem

from crossmodal.errors import CrossmodalError
from crossmodal.methods._linear.inputs import Inputs
from crossmodal.methods._linear.kernels import KernelFeatures, rbf_gamma


@pytest.fixture
def view(rng):
    return Inputs(rng.standard_normal((40, 3)) + 1, "centre", np.arange(40))


def test_inner_products_of_all_landmarks_are_the_kernel(view):
    features = KernelFeatures(view, np.arange(40), 0.3)[np.arange(40)]
    expected = np.exp(-0.3 * cdist(view[:40], view[:40], "sqeuclidean"))
    np.testing.assert_allclose(features @ features.T, expected, atol=1e-6)


def test_fewer_landmarks_agree_with_scikit_learn(view):
    peer = Nystroem(kernel="rbf", gamma=0.3, n_components=10, random_state=0)
    expected = peer.fit_transform(view[:40])
    features = KernelFeatures(view, peer.component_indices_, 0.3)[np.arange(40)]
    np.testing.assert_allclose(features @ features.T, expected @ expected.T, atol=1e-9)


def test_gamma_is_in_units_of_the_mean_squared_distance(view):
    squares = pdist(view[:40], "sqeuclidean").mean() * 39 / 40  # with those of rows to themselves
    assert rbf_gamma(view, 0.3) == pytest.approx(0.3 / squares)


def test_equal_rows_are_refused():
    with pytest.raises(CrossmodalError, match="all rows of a view are equal"):
        rbf_gamma(Inputs(np.ones((4, 2)), "centre", np.arange(4)), 1.0)
