import numpy as np
import pytest
from scipy.linalg import block_diag, eigh
from sklearn import cross_decomposition

from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.methods.cca import CCA
from crossmodal.vectors import inner_product


@pytest.fixture
def views(rng):
    """120 paired rows of widths 7 and 5, correlated through three shared directions."""
    shared = rng.standard_normal((120, 3))
    image = shared @ rng.standard_normal((3, 7)) + rng.standard_normal((120, 7)) + 4
    text = shared @ rng.standard_normal((3, 5)) + rng.standard_normal((120, 5)) - 2
    return {"image": image, "text": text}


@pytest.fixture
def fit(make_split):
    def fitted(views, dims=5, ridge=0.0, power=0.0):
        method, split = CCA(dims=dims, ridge=ridge, power=power), make_split(views)
        method.fit(split, split, Run(seed=0))
        return method

    return fitted


@pytest.fixture
def score(make_split):
    def scores(method, views):
        split = make_split(views)
        embeddings = [method.embed(m, split.views[m]) for m in ("image", "text")]
        return inner_product(*embeddings)

    return scores


def centred(views):
    return [x - x.mean(axis=0) for x in views.values()]


def covariance(x, ridge=0.0):
    plain = x.T @ x / (len(x) - 1)
    return plain + ridge * np.mean(np.diag(plain)) * np.eye(len(plain))


def test_correlations_are_the_cosines_between_the_column_spaces(views, fit):
    x, y = (np.linalg.qr(view)[0] for view in centred(views))
    cosines = np.linalg.svd(x.T @ y, compute_uv=False)
    np.testing.assert_allclose(fit(views).arrays["correlations"], cosines, atol=1e-12)


def test_block_pencil_eigenvalues_are_one_plus_correlations(views, fit):
    x, y = centred(views)
    values = eigh(covariance(np.hstack([x, y])), block_diag(covariance(x), covariance(y)))[0]
    rho = fit(views).arrays["correlations"]
    expected = np.sort(np.concatenate([1 - rho, np.ones(2), 1 + rho]))
    np.testing.assert_allclose(values, expected, atol=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_variates_are_uncorrelated_with_unit_variance(views, fit, ridge):
    x, y = centred(views)
    arrays = fit(views, ridge=ridge).arrays
    a, b = arrays["map.image"], arrays["map.text"]
    np.testing.assert_allclose(a.T @ covariance(x, ridge) @ a, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(b.T @ covariance(y, ridge) @ b, np.eye(5), atol=1e-12)
    cross = a.T @ x.T @ y @ b / (len(x) - 1)
    np.testing.assert_allclose(cross, np.diag(arrays["correlations"]), atol=1e-12)


def test_invertible_maps_change_nothing_without_ridge(views, fit, score, rng):
    mapped = {
        "image": views["image"] @ rng.standard_normal((7, 7)),
        "text": views["text"] @ rng.standard_normal((5, 5)) + 3,
    }
    plain, other = fit(views, dims=3), fit(mapped, dims=3)
    np.testing.assert_allclose(other.arrays["correlations"], plain.arrays["correlations"])
    np.testing.assert_allclose(score(other, mapped), score(plain, views), atol=1e-9)


def test_variates_agree_with_the_iterative_solver_up_to_sign(views, fit, make_split):
    solver = cross_decomposition.CCA(3, scale=False, tol=1e-14, max_iter=100_000)
    peers = solver.fit(views["image"], views["text"]).transform(views["image"], views["text"])
    method, split = fit(views, dims=3), make_split(views)
    for modality, peer in zip(views, peers, strict=True):
        variates = method.embed(modality, split.views[modality])
        cosines = (variates * peer).sum(0) / np.linalg.norm(variates, axis=0)
        cosines /= np.linalg.norm(peer, axis=0)
        np.testing.assert_allclose(np.abs(cosines), 1, atol=1e-6)


@pytest.mark.parametrize("count", [500, 50_000])
def test_planted_directions_are_recovered_to_order_root_n(fit, rng, count):
    rho = np.array([0.9, 0.6, 0.3])
    x = rng.standard_normal((count, 3))
    y = rho * x + np.sqrt(1 - rho**2) * rng.standard_normal((count, 3))
    mix = rng.standard_normal((3, 3)) + 2 * np.eye(3)
    arrays = fit({"image": x @ mix, "text": y}, dims=3).arrays
    tolerance = 5 / np.sqrt(count)  # a correlation's standard error is (1 - rho^2) / sqrt(n)
    np.testing.assert_allclose(arrays["correlations"], rho, atol=tolerance)
    np.testing.assert_allclose(np.abs(mix @ arrays["map.image"]), np.eye(3), atol=tolerance)


def test_ridge_is_free_of_the_units_of_the_views(views, fit, score):
    rescaled = {"image": 1e3 * views["image"], "text": 1e-3 * views["text"]}
    expected = score(fit(views, ridge=0.1), views)
    np.testing.assert_allclose(score(fit(rescaled, ridge=0.1), rescaled), expected, atol=1e-12)
    assert np.abs(score(fit(views), views) - expected).max() > 0.01


def test_few_pairs_correlate_perfectly_without_ridge(fit, rng):
    noise = {m: rng.standard_normal((20, 30)) for m in ("image", "text")}
    with pytest.warns(UserWarning, match="ridge is 0"):
        unregularised = fit(noise)
    np.testing.assert_allclose(unregularised.arrays["correlations"], np.ones(19))
    assert fit(noise, ridge=1.0).arrays["correlations"].max() < 0.9


def test_power_weights_the_variates_by_their_correlations(views, fit, make_split):
    split = make_split(views)
    for modality, view in split.views.items():
        plain, weighted = (fit(views, power=s) for s in (0.0, 2.0))
        expected = plain.embed(modality, view) * plain.arrays["correlations"] ** 2
        np.testing.assert_allclose(weighted.embed(modality, view), expected, atol=1e-12)


def test_unseen_rows_are_centred_by_the_training_means(views, fit, make_split):
    method = fit(views)
    rows = make_split({m: np.vstack([x.mean(axis=0), x[:2]]) for m, x in views.items()})
    train = make_split(views)
    for modality, view in rows.views.items():
        embedded = method.embed(modality, view)
        np.testing.assert_allclose(embedded[0], 0, atol=1e-12)
        expected = method.embed(modality, train.views[modality])[:2]
        np.testing.assert_allclose(embedded[1:], expected, atol=1e-12)


def test_each_caption_makes_a_pair_with_its_image(fit, rng):
    image, text = rng.standard_normal((40, 4)), rng.standard_normal((120, 3))
    captioned = fit({"image": image, "text": text}, dims=3).arrays
    repeated = fit({"image": image.repeat(3, axis=0), "text": text}, dims=3).arrays
    for name, value in repeated.items():
        np.testing.assert_array_equal(captioned[name], value)


def test_order_of_the_pairs_does_not_matter(views, fit, rng):
    order = rng.permutation(120)
    shuffled = {m: x[order] for m, x in views.items()}
    expected = fit(views).arrays["correlations"]
    np.testing.assert_allclose(fit(shuffled).arrays["correlations"], expected, atol=1e-12)


def test_of_more_dims_than_the_rank_of_a_view_as_many_are_used(views, fit):
    views["text"][:, 4] = views["text"][:, 3] - views["text"][:, 2]
    expected = fit(views, dims=4).arrays
    with pytest.warns(UserWarning, match=r"dims is 5.*only 4"):
        found = fit(views, dims=5).arrays
    assert len(found["correlations"]) == 4
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def test_a_constant_view_is_refused(views, fit):
    views["image"][:] = 3.0
    with pytest.raises(CrossmodalError, match="no common directions: all rows of image are equal"):
        fit(views, dims=1, ridge=0.1)
