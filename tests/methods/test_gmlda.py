import numpy as np
import pytest
import scipy.linalg

from crossmodal.errors import CrossmodalError
from crossmodal.methods.gmlda import GMLDA

OPTIONS = {
    "dims": 3,
    "alpha": 10.0,
    "ridge": 0.0,
    "pca_energy": 1.0,
}


def gmlda(**options):
    return GMLDA(**OPTIONS | options)


def scatters(x, labels):
    """Scatter between and within the classes, and the class means (C, d), by plain loops."""
    x = x - x.mean(axis=0)
    between = within = 0
    means = []
    for rows in (x[label] for label in labels.T):
        mean = rows.mean(axis=0)
        means.append(mean)
        between = between + len(rows) * np.outer(mean, mean)
        within = within + (rows - mean).T @ (rows - mean)
    return between, within, np.array(means)


def test_without_alignment_it_is_the_lda_of_each_view(labelled, fitted):
    views, labels = labelled
    method = fitted(gmlda(alpha=0.0, dims=6), views, labels)
    expected = {m: scipy.linalg.eigh(*scatters(x, labels)[:2]) for m, x in views.items()}
    spectrum = np.sort(np.concatenate([values[-3:] for values, _ in expected.values()]))[::-1]
    np.testing.assert_allclose(method.arrays["values"], spectrum, rtol=1e-9)
    for modality, (values, vectors) in expected.items():
        for value, vector in zip(values[-3:], vectors.T[-3:], strict=True):
            place = np.argmin(np.abs(spectrum - value))
            found = method.arrays[f"map.{modality}"][:, place]
            np.testing.assert_allclose(found * np.sign(found @ vector), vector, atol=1e-9)


@pytest.mark.parametrize("alignment", ["all", "mean"])
@pytest.mark.parametrize("balance", [True, False])
def test_eigenvalues_are_those_of_the_literal_pencil(labelled, fitted, alignment, balance):
    views, labels = labelled
    (w1, d1, m1), (w2, d2, m2) = (scatters(x, labels) for x in views.values())
    x, y = (x - x.mean(axis=0) for x in views.values())
    z = x.T @ y if alignment == "all" else m1.T @ m2
    gamma, mu, alpha = 1.0, 1.0, 5.0
    if balance:
        gamma, mu = np.trace(d1) / np.trace(d2), np.trace(w1) / np.trace(w2)
        alpha = 5 * np.trace(w1) / np.linalg.svd(z, compute_uv=False).sum()
    d1, d2 = (d + 0.01 * np.diag(d).mean() * np.eye(len(d)) for d in (d1, d2))
    left = np.block([[w1, alpha * z], [alpha * z.T, mu * w2]])
    values = scipy.linalg.eigvalsh(left, scipy.linalg.block_diag(d1, gamma * d2))[::-1]
    options = {"alignment": alignment, "alpha": 5.0, "balance": balance, "ridge": 0.01, "dims": 5}
    method = fitted(gmlda(**options), views, labels)
    np.testing.assert_allclose(method.arrays["values"], values[:5], atol=1e-9)


def test_strong_alignment_is_class_constrained_cca(labelled, fitted, scores):
    views, labels = labelled
    x, y = (x - x.mean(axis=0) for x in views.values())
    roots = [scipy.linalg.inv(scipy.linalg.sqrtm(scatters(v, labels)[1])) for v in (x, y)]
    p, _, qt = np.linalg.svd(roots[0] @ x.T @ y @ roots[1])
    a, b = x @ roots[0] @ p[:, :3], y @ roots[1] @ qt[:3].T
    expected = a @ b.T / np.linalg.norm(a, axis=1)[:, None] / np.linalg.norm(b, axis=1)
    found = scores(fitted(gmlda(alpha=1e6), views, labels), views)
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_class_order_and_invertible_maps_change_nothing(labelled, fitted, scores, rng):
    views, labels = labelled
    expected = scores(fitted(gmlda(), views, labels), views)
    mapped = {m: x @ rng.standard_normal((x.shape[1], x.shape[1])) + 1 for m, x in views.items()}
    method = fitted(gmlda(), mapped, labels[:, [2, 0, 3, 1]])
    np.testing.assert_allclose(scores(method, mapped), expected, atol=1e-7)


def test_pca_leaves_out_directions_without_variance(labelled, fitted, scores, rng):
    views, labels = labelled
    expected = scores(fitted(gmlda(), views, labels), views)
    wide = views | {"image": views["image"] @ rng.standard_normal((6, 20))}
    np.testing.assert_allclose(scores(fitted(gmlda(), wide, labels), wide), expected, atol=1e-7)


def test_unlabelled_items_are_left_out(labelled, fitted):
    views, labels = labelled
    labels[:30] = False
    rest = fitted(gmlda(), {m: x[30:] for m, x in views.items()}, labels[30:])
    np.testing.assert_allclose(
        fitted(gmlda(), views, labels).arrays["values"], rest.arrays["values"]
    )


def test_a_class_without_items_changes_nothing(labelled, fitted):
    views, labels = labelled
    more = np.hstack([labels, np.zeros((150, 1), bool)])
    found, expected = (fitted(gmlda(), views, x).arrays["values"] for x in (more, labels))
    np.testing.assert_allclose(found, expected)


def test_the_seed_draws_one_of_several_labels(labelled, fitted):
    views, labels = labelled
    several = labels.copy()
    several[:75] |= np.roll(several[:75], 1, axis=1)
    values = [fitted(gmlda(), views, several, seed).arrays["values"] for seed in (0, 0, 1)]
    np.testing.assert_array_equal(values[0], values[1])
    assert not np.allclose(values[0], values[2])


def test_classes_without_spread_are_refused(fitted):
    text = np.array([[1.0], [1.0], [-1.0], [-1.0]])  # the scatter within is exactly zero
    views = {"image": np.array([[1.0], [2.0], [-4.0], [3.0]]), "text": text}
    with pytest.raises(CrossmodalError, match="raise ridge"):
        fitted(gmlda(dims=1), views, np.eye(2)[[0, 0, 1, 1]])


def test_labels_are_needed(labelled, fitted):
    with pytest.raises(CrossmodalError, match="learns from labels"):
        fitted(gmlda(), labelled[0])
