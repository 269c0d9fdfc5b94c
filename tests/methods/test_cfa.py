import itertools

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSSVD

from crossmodal.methods.cca import CCA
from crossmodal.methods.cfa import CFA


def cfa(dims, scaling="centre"):
    return CFA(dims=dims, scaling=scaling)


def centred(views):
    return [x - x.mean(axis=0) for x in views.values()]


def maps(method):
    return method.arrays["map.image"], method.arrays["map.text"]


def test_maps_are_orthonormal_and_diagonalise_the_cross_product(paired, fitted):
    method = fitted(cfa(5), paired)
    x, y = centred(paired)
    u, v = maps(method)
    values = method.arrays["values"]
    np.testing.assert_allclose(u.T @ u, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(v.T @ v, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(u.T @ x.T @ y @ v, np.diag(values), atol=1e-9)
    assert (np.diff(values) <= 0).all()


def test_maps_agree_with_scikit_learn_up_to_sign(paired, fitted):
    peer = PLSSVD(4, scale=False).fit(*paired.values())
    u, v = maps(fitted(cfa(4), paired))
    signs = np.sign((u * peer.x_weights_).sum(axis=0))
    np.testing.assert_allclose(u, peer.x_weights_ * signs, atol=1e-10)
    np.testing.assert_allclose(v, peer.y_weights_ * signs, atol=1e-10)


def test_no_pair_of_rotations_of_the_plane_agrees_better(rng, fitted):
    views = {m: rng.standard_normal((50, 2)) for m in ("image", "text")}
    x, y = centred(views)
    angles = np.linspace(0, 2 * np.pi, 181)
    turns = [
        np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) @ np.diag([1, flip])
        for a, flip in itertools.product(angles, (1, -1))
    ]
    best = max(
        np.einsum("ij,njk->nik", (x @ a).T @ y, turns).trace(axis1=1, axis2=2).max() for a in turns
    )
    u, v = maps(fitted(cfa(2), views))
    reached = np.trace(u.T @ x.T @ y @ v)
    assert best <= reached + 1e-9
    assert best == pytest.approx(reached, rel=1e-3)


def test_rotated_views_coincide(rng, fitted, make_split):
    text = rng.standard_normal((40, 4)) + 1
    rotation = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    views = {"image": text @ rotation + 5, "text": text}
    method, split = fitted(cfa(4), views), make_split(views)
    image, text = (method.embed(m, split.views[m]) for m in views)
    np.testing.assert_allclose(image, text, atol=1e-12)


def test_equals_cca_on_white_views(rng, fitted):
    white = {}
    for modality, width in (("image", 6), ("text", 4)):
        x = rng.standard_normal((80, width))
        white[modality] = np.linalg.qr(x - x.mean(axis=0))[0] * np.sqrt(79)
    u, v = maps(fitted(cfa(4), white))
    a, b = maps(fitted(CCA(dims=4, ridge=0.0, power=0.0), white))
    signs = np.sign((u * a).sum(axis=0))
    np.testing.assert_allclose(u, a * signs, atol=1e-9)
    np.testing.assert_allclose(v, b * signs, atol=1e-9)


@pytest.mark.parametrize("scaling", ["centre", "zscore"])
def test_a_constant_added_to_all_rows_changes_nothing(paired, fitted, scores, scaling):
    moved = paired | {"image": paired["image"] + 17}
    expected = scores(fitted(cfa(3, scaling), paired), paired)
    np.testing.assert_allclose(scores(fitted(cfa(3, scaling), moved), moved), expected)


def test_zscores_make_it_free_of_the_units_of_the_columns(paired, fitted, scores, rng):
    rescaled = {m: x * rng.uniform(0.1, 10, x.shape[1]) for m, x in paired.items()}
    expected = scores(fitted(cfa(3, "zscore"), paired), paired)
    np.testing.assert_allclose(scores(fitted(cfa(3, "zscore"), rescaled), rescaled), expected)
    assert np.abs(scores(fitted(cfa(3), rescaled), rescaled) - expected).max() > 0.01


def test_surplus_dims_are_cut_to_covarying_directions(paired, fitted):
    paired["text"][:, 4] = paired["text"][:, 3]
    expected = fitted(cfa(4), paired).arrays["map.text"]
    with pytest.warns(UserWarning, match=r"dims is 5.*only 4"):
        found = fitted(cfa(5), paired).arrays["map.text"]
    np.testing.assert_array_equal(found, expected)
