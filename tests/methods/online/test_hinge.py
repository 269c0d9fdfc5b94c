import numpy as np
import pytest

from crossmodal.methods._online.hinge import Margin, adaptive_margin, list_hinge


def test_margin_of_equal_features_and_one_differing_label():
    plus, minus = np.array([True, True]), np.array([True, False])
    assert adaptive_margin(np.zeros(3), plus, minus, Margin(20.0, 0.3, 0.0)) == pytest.approx(14)


def test_margin_of_equal_labels_is_base_plus_distance():
    labels = np.array([True, False])
    assert adaptive_margin(np.array([3.0, 4.0]), labels, labels, Margin(10.0, 0.4, 3.0)) == 23


def test_without_scale_the_margin_is_fixed():
    plus, minus = np.array([True, True]), np.array([True, False])
    assert adaptive_margin(np.array([3.0, 4.0]), plus, minus, Margin(0.0, 0.5, 10.0)) == 10


def test_hinge_agrees_with_a_loop_over_triplets():
    rng = np.random.default_rng(0)
    documents, labels = rng.standard_normal((20, 5)), rng.random((20, 3)) < 0.5
    towards, ascent = rng.standard_normal(5), np.full(5, np.nan)
    pairs = rng.integers(0, 20, (50, 2))
    loss, violating, total = 0, 0, np.zeros(5)
    for p, n in pairs:
        distance = np.linalg.norm(documents[p] - documents[n])
        margin = 0.5 + 1.5 * (0.25 * distance + 0.75 * np.abs(labels[p] * 1 - labels[n] * 1).sum())
        hinge = max(0, margin - towards @ documents[p] + towards @ documents[n])
        loss += hinge
        violating += hinge > 0
        total += (hinge > 0) * (documents[p] - documents[n])
    found = list_hinge(towards, documents, labels, pairs, Margin(1.5, 0.25, 0.5), ascent)
    assert 0 < violating < 50
    assert found == pytest.approx((loss, violating))
    np.testing.assert_allclose(ascent, total, atol=1e-12)
