import numpy as np
import pytest
from sklearn.cross_decomposition import PLSCanonical

from crossmodal.errors import CrossmodalError
from crossmodal.methods.cfa import CFA
from crossmodal.methods.pls import PLS


def pls(dims, scaling="centre"):
    return PLS(dims=dims, scaling=scaling)


def test_maps_agree_with_scikit_learn_up_to_sign(rng, fitted):
    shared = rng.standard_normal((300, 4))
    views = {
        modality: shared @ rng.standard_normal((4, width)) + rng.standard_normal((300, width)) + 1
        for modality, width in (("image", 8), ("text", 6))
    }
    peer = PLSCanonical(6, scale=False, algorithm="svd").fit(*views.values())
    arrays = fitted(pls(6), views).arrays
    signs = np.sign((arrays["map.image"] * peer.x_rotations_).sum(axis=0))
    np.testing.assert_allclose(arrays["map.image"], peer.x_rotations_ * signs, atol=1e-9)
    np.testing.assert_allclose(arrays["map.text"], peer.y_rotations_ * signs, atol=1e-9)


def test_wide_views_agree_with_scikit_learn_up_to_sign(rng, fitted):
    shared = rng.standard_normal((400, 3)) * [4, 3, 2]
    views = {
        modality: shared @ rng.standard_normal((3, width)) + rng.standard_normal((400, width))
        for modality, width in (("image", 130), ("text", 110))
    }
    peer = PLSCanonical(3, scale=False, algorithm="svd").fit(*views.values())
    arrays = fitted(pls(3), views).arrays
    for name, expected in (("image", peer.x_rotations_), ("text", peer.y_rotations_)):
        np.testing.assert_allclose(np.abs(arrays[f"map.{name}"]), np.abs(expected), atol=1e-9)


def test_zscored_variates_agree_with_scaling_scikit_learn(paired, fitted, make_split):
    peer = PLSCanonical(3, scale=True, algorithm="svd").fit(*paired.values())
    method, split = fitted(pls(3, "zscore"), paired), make_split(paired)
    for modality, expected in zip(paired, peer.transform(*paired.values()), strict=True):
        found = method.embed(modality, split.views[modality])
        # scikit-learn divides by the sample's deviation, with n - 1
        expected = expected * np.sqrt(120 / 119)
        np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-9)


def test_scores_of_a_view_are_orthogonal(paired, fitted, make_split):
    method, split = fitted(pls(5), paired), make_split(paired)
    for modality, view in split.views.items():
        scores = method.embed(modality, view)
        products = scores.T @ scores
        np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-9)


def test_first_direction_alone_is_that_of_cfa(paired, fitted):
    first, other = (
        fitted(method(dims=3, scaling="centre"), paired).arrays["map.image"]
        for method in (PLS, CFA)
    )
    cosines = np.abs((first * other).sum(axis=0)) / np.linalg.norm(first, axis=0)
    assert cosines[0] == pytest.approx(1)
    assert cosines[2] < 0.999


def test_components_without_covariance_are_left_out(rng, fitted):
    """On white views a cross-covariance of rank 2 has two components."""
    basis = rng.standard_normal((90, 10))
    basis = np.linalg.qr(basis - basis.mean(axis=0))[0]
    views = {"image": basis[:, :6], "text": basis[:, :2] + 0.5 * basis[:, 6:8]}
    views["text"] = np.hstack([views["text"] / np.sqrt(1.25), basis[:, 8:]])
    assert_same_with_more(fitted, views, 2)


def test_of_more_dims_than_the_rank_of_a_view_as_many_are_used(paired, fitted):
    paired["text"][:, 4] = paired["text"][:, 3] - paired["text"][:, 2]
    assert_same_with_more(fitted, paired, 4)


def assert_same_with_more(fitted, views, rank):
    """Views of this rank make the same map with one dimension more, and a warning."""
    expected = fitted(pls(rank), views).arrays["map.image"]
    with pytest.warns(UserWarning, match=rf"dims is {rank + 1}.*only {rank}"):
        found = fitted(pls(rank + 1), views).arrays["map.image"]
    np.testing.assert_array_equal(found, expected)


def test_views_of_one_column_have_one_component(rng, fitted):
    text = rng.standard_normal((30, 1))
    views = {"image": 2 * text + rng.standard_normal((30, 1)), "text": text}
    np.testing.assert_allclose(np.abs(fitted(pls(1), views).arrays["map.image"]), [[1]])


def test_a_constant_view_is_refused(paired, fitted):
    paired["text"][:] = 2.0
    with pytest.raises(CrossmodalError, match="no common directions"):
        fitted(pls(1), paired)
