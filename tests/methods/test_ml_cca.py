import numpy as np
import pytest

from crossmodal.data.split import Split, View
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.methods.cca import CCA
from crossmodal.methods.ml_cca import MLCCA

OPTIONS = {"dims": 5, "ridge": 0.0, "power": 0.0, "sigma": None}


def ml_cca(**options):
    return MLCCA(**OPTIONS | options)


@pytest.fixture
def several(labelled, rng):
    """Views, and labels of which items have none to all four."""
    views, _ = labelled
    return views, rng.random((150, 4)) < 0.4


def centred(views):
    return [x - x.mean(axis=0) for x in views.values()]


def dense_correlations(views, similarity, ridge=0.0):
    """Canonical correlations from the n x n similarity of the labels."""
    x, y = centred(views)
    total = similarity.sum()
    cross = x.T @ similarity @ y / total
    roots = []
    for rows, weights in ((x, similarity.sum(axis=1)), (y, similarity.sum(axis=0))):
        covariance = (rows.T * weights) @ rows / total
        covariance += ridge * np.diag(covariance).mean() * np.eye(len(covariance))
        roots.append(np.linalg.inv(np.linalg.cholesky(covariance)))
    return np.linalg.svd(roots[0] @ cross @ roots[1].T, compute_uv=False)


def dot(labels):
    lengths = np.sqrt(labels.sum(axis=1)).clip(1)
    return labels.astype(float) @ labels.T / np.outer(lengths, lengths)


def exponential(labels, sigma):
    return np.exp(-(labels[:, None] != labels).sum(axis=2) / sigma)


@pytest.mark.parametrize("ridge", [0.0, 0.25])
@pytest.mark.parametrize("sigma", [None, 0.5, 2.0])
def test_groups_give_what_the_dense_similarity_gives(several, fitted, ridge, sigma):
    views, labels = several
    similarity = dot(labels) if sigma is None else exponential(labels, sigma)
    expected = dense_correlations(views, similarity, ridge)
    method = fitted(ml_cca(ridge=ridge, sigma=sigma), views, labels)
    np.testing.assert_allclose(method.arrays["correlations"], expected, atol=1e-10)


def test_a_label_of_its_own_for_each_item_is_cca(paired, fitted, scores):
    own = np.eye(120, dtype=bool)
    method = fitted(ml_cca(dims=4, ridge=0.1, power=1.0), paired, own)
    cca = fitted(CCA(dims=4, ridge=0.1, power=1.0), paired)
    np.testing.assert_allclose(
        method.arrays["correlations"], cca.arrays["correlations"], atol=1e-12
    )
    np.testing.assert_allclose(scores(method, paired), scores(cca, paired), atol=1e-10)


def test_with_one_label_only_the_class_means_matter(labelled, fitted):
    views, labels = labelled
    counts = labels.sum(axis=0)
    x, y = (labels.T @ rows / counts[:, None] for rows in centred(views))
    cross = (x.T * counts**2) @ y / (counts**2).sum()
    method = fitted(ml_cca(), views, labels)
    a, b = method.arrays["map.image"], method.arrays["map.text"]
    np.testing.assert_allclose(a.T @ cross @ b, np.diag(method.arrays["correlations"]), atol=1e-10)


def test_balanced_classes_leave_one_direction_less(rng, fitted):
    labels = np.eye(4, dtype=bool)[np.arange(80) % 4]
    views = {m: rng.standard_normal((80, 6)) for m in ("image", "text")}
    rho = fitted(ml_cca(dims=6), views, labels).arrays["correlations"]
    assert rho[2] > 1e-3
    np.testing.assert_allclose(rho[3:], 0, atol=1e-12)


def test_items_do_not_correlate_where_labels_say_nothing(paired, fitted):
    twice = {modality: np.tile(rows, (2, 1)) for modality, rows in paired.items()}
    of_each = np.eye(2).repeat(120, axis=0)  # the same items in both classes
    rho = fitted(ml_cca(sigma=1.0), twice, of_each).arrays["correlations"]
    np.testing.assert_allclose(rho, 0, atol=1e-12)


def test_pairing_does_not_matter(labelled, rng):
    views, labels = labelled

    def correlations(order):
        """Of the same items, with the rows of the texts in another order."""
        items = np.arange(150)
        ids = [str(i) for i in items]
        text = View(views["text"][order], items[order], [ids[i] for i in order], {})
        split = Split(ids, labels, {"image": View(views["image"], items, ids, {}), "text": text})
        method = ml_cca(ridge=0.1)
        method.fit(split, split, Run(seed=0))
        return method.arrays["correlations"]

    order = rng.permutation(150)
    np.testing.assert_allclose(correlations(order), correlations(np.arange(150)), atol=1e-12)


def test_items_without_label_count_by_the_exponential_alone(several, fitted):
    views, labels = several
    labels[:40] = False
    moved = {m: x.copy() for m, x in views.items()}
    for x in moved.values():
        x[:40] = x[:40][::-1] * 2 - x[:40].mean(axis=0)  # other rows, the same mean

    def change(sigma):
        first, second = (
            fitted(ml_cca(ridge=0.1, sigma=sigma), v, labels).arrays["correlations"]
            for v in (views, moved)
        )
        return np.abs(first - second).max()

    assert change(None) < 1e-12
    assert change(1.0) > 1e-3


def test_power_weights_the_variates_by_their_correlations(several, fitted):
    views, labels = several
    plain, weighted = (fitted(ml_cca(ridge=0.1, power=s), views, labels).arrays for s in (0.0, 2.0))
    expected = plain["map.text"] * plain["correlations"] ** 2
    np.testing.assert_allclose(weighted["map.text"], expected)


def test_several_captions_of_an_item_are_further_texts(labelled, rng, make_split):
    views, labels = labelled
    captions = rng.standard_normal((300, 5))
    split = make_split({"image": views["image"], "text": captions}, labels)
    method = ml_cca(dims=3)
    method.fit(split, split, Run(seed=0))
    similarity = dot(labels).repeat(2, axis=1)
    expected = dense_correlations({"image": views["image"], "text": captions}, similarity)
    np.testing.assert_allclose(method.arrays["correlations"], expected, atol=1e-10)


def test_too_many_dims_are_told_and_no_labels_refused(labelled, fitted):
    views, labels = labelled
    with pytest.warns(UserWarning, match=r"dims is 6.*only 5"):
        fitted(ml_cca(dims=6, ridge=0.1, power=1.0), views, labels)
    with pytest.raises(CrossmodalError, match="learns from labels"):
        fitted(ml_cca(ridge=0.1, power=1.0), views)
