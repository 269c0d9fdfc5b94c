import numpy as np
import pytest
import scipy.linalg

from crossmodal.errors import CrossmodalError
from crossmodal.methods.cca import CCA
from crossmodal.methods.three_view_cca import ThreeViewCCA


def three_view(dims, ridge, power=4.0, scaling="centre"):
    return ThreeViewCCA(dims=dims, ridge=ridge, power=power, scaling=scaling)


def test_labels_that_say_nothing_give_cca(paired, fitted, scores):
    paired = {modality: np.tile(rows, (2, 1)) for modality, rows in paired.items()}
    of_each = np.eye(2).repeat(120, axis=0)  # the same items in both classes
    method = fitted(three_view(5, 1e-9, power=0.0), paired, of_each)
    cca = fitted(CCA(dims=5, ridge=0.0, power=0.0), paired)
    expected = 1 + cca.arrays["correlations"]
    np.testing.assert_allclose(method.arrays["values"], expected, atol=1e-6)
    np.testing.assert_allclose(scores(method, paired), scores(cca, paired), atol=1e-5)


def test_labels_as_texts_give_the_canonical_correlations_of_lda(labelled, fitted):
    views, labels = labelled
    image = views["image"] - views["image"].mean(axis=0)
    means = labels / labels.sum(axis=0) @ (labels.T @ image)  # of the class of each row
    squares = scipy.linalg.eigh(means.T @ means, image.T @ image, eigvals_only=True)[::-1][:3]
    texts = {"image": image, "text": labels.astype(float)}
    values = fitted(three_view(3, 1e-9, power=0.0), texts, labels).arrays["values"]
    # the largest eigenvalue of [[1, r, r], [r, 1, 1], [r, 1, 1]]
    np.testing.assert_allclose(values, (3 + np.sqrt(1 + 8 * squares)) / 2, atol=1e-6)


def test_covariances_of_three_views_are_as_constrained(labelled, fitted, make_split):
    views, labels = labelled
    ridge = 0.05
    method = fitted(three_view(6, ridge, power=0.0), views, labels)
    values, split = method.arrays["values"], make_split(views, labels)
    embedded = [method.embed(m, split.views[m]) for m in views]
    centred = labels - labels.mean(axis=0)
    covariance = centred.T @ centred / 149
    # the third map follows from the other two by the pencil's last rows
    cross = sum(centred.T @ z / 149 for z in embedded)
    w = np.stack(
        [
            np.linalg.solve((v - 1) * (covariance + ridge * np.eye(4)), c)
            for v, c in zip(values, cross.T, strict=True)
        ],
        axis=1,
    )
    total = w.T @ (covariance + ridge * np.eye(4)) @ w
    for modality, z in zip(views, embedded, strict=True):
        a = method.arrays[f"map.{modality}"]
        total = total + z.T @ z / 149 + ridge * a.T @ a
    np.testing.assert_allclose(total, np.eye(6), atol=1e-9)
    assert values[0] < 3


def test_power_weights_the_axes_by_their_eigenvalues(labelled, fitted, scores):
    views, labels = labelled
    plain, weighted = (
        fitted(three_view(8, 1e-3, power=power, scaling="zscore"), views, labels)
        for power in (0.0, 4.0)
    )
    expected = plain.arrays["map.image"] * plain.arrays["values"] ** 4
    np.testing.assert_allclose(weighted.arrays["map.image"], expected)
    assert np.abs(scores(plain, views) - scores(weighted, views)).max() > 0.1


def test_the_ridge_is_in_the_units_that_scaling_gives(labelled, fitted, scores):
    views, labels = labelled
    rescaled = {m: 100 * x for m, x in views.items()}

    def change(scaling):
        method = three_view(4, 0.5, scaling=scaling)
        before = scores(fitted(method, views, labels), views)
        return np.abs(scores(fitted(method, rescaled, labels), rescaled) - before).max()

    assert change("zscore") < 1e-9
    assert change("centre") > 1e-3


def test_unlabelled_items_tie_image_and_text(labelled, fitted):
    views, labels = labelled
    labels[:50] = False
    with_them = fitted(three_view(4, 1e-3), views, labels)
    rest = {m: x[50:] for m, x in views.items()}
    without = fitted(three_view(4, 1e-3), rest, labels[50:])
    assert not np.allclose(with_them.arrays["values"], without.arrays["values"])


def test_items_of_several_labels_and_unlabelled_datasets(labelled, fitted):
    views, labels = labelled
    fitted(three_view(4, 1e-3), views, labels | labels[::-1])
    with pytest.raises(CrossmodalError, match="learns from labels"):
        fitted(three_view(4, 1e-3), views)
