import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import MultiTaskLasso

from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.methods import lgcfl as module
from crossmodal.methods.lgcfl import LGCFL

OPTIONS = {
    "penalty": 1.0,
    "tolerance": 0.0,
    "scaling": "centre",
}


def lgcfl(**options):
    return LGCFL(**OPTIONS | options)


def curve(method, split):
    run = Run(seed=0)
    method.fit(split, split, run)
    return [row["objective"] for row in run.curve]


@pytest.fixture
def still(monkeypatch):
    """Keep the targets at the indicators of the classes."""
    monkeypatch.setattr(module, "_dragged", lambda labels, predictions: labels)


@pytest.mark.usefixtures("still")
def test_still_targets_with_little_penalty_are_least_squares(labelled, fitted):
    views, labels = labelled
    method = fitted(lgcfl(penalty=1e-9), views, labels)
    for modality, x in views.items():
        target = labels - labels.mean(axis=0)
        expected = np.linalg.lstsq(x - x.mean(axis=0), target, rcond=None)[0]
        matrix = method.arrays[f"map.{modality}"]
        np.testing.assert_allclose(matrix, expected, atol=1e-8)
        lda = LinearDiscriminantAnalysis(solver="eigen").fit(x, labels.argmax(axis=1))
        span = np.linalg.svd(matrix)[0][:, :3]  # indicators of four classes have rank 3
        np.testing.assert_allclose(subspace_angles(span, lda.scalings_[:, :3]), 0, atol=1e-6)


@pytest.mark.usefixtures("still")
def test_still_targets_make_it_the_multi_task_lasso(labelled, fitted):
    views, labels = labelled
    method = fitted(lgcfl(penalty=20.0, iterations=500), views, labels)
    for modality, x in views.items():
        peer = MultiTaskLasso(alpha=20 / 300, tol=1e-12).fit(x, labels.astype(float))
        np.testing.assert_allclose(method.arrays[f"map.{modality}"], peer.coef_.T, atol=2e-3)


def test_objective_never_rises_and_dragging_lowers_it(labelled, make_split, request):
    split = make_split(*labelled)
    objectives = curve(lgcfl(), split)
    assert (np.diff(objectives) <= 1e-9).all()
    request.getfixturevalue("still")
    still = curve(lgcfl(), split)
    assert (np.diff(still) <= 1e-9).all()
    assert objectives[-1] < still[-1] - 1


def test_dragged_targets_are_the_fixed_point(labelled, fitted, make_split):
    """At the end both maps are stationary for targets that lie beyond the indicators."""
    views, labels = labelled
    method, split = fitted(lgcfl(iterations=2000), views, labels), make_split(views, labels)
    embedded = {m: method.embed(m, view) for m, view in split.views.items()}
    mean = sum(embedded.values()) / 2
    targets = labels.astype(float)
    for _ in range(2000):  # bias and targets for fixed maps
        predictions = mean + targets.mean(axis=0)
        targets = np.where(labels, predictions.clip(min=1), predictions.clip(max=0))
    bias = targets.mean(axis=0)
    for modality, x in views.items():
        a = method.arrays[f"map.{modality}"]
        lengths = np.linalg.norm(a, axis=1, keepdims=True)
        slope = 2 * (x - x.mean(axis=0)).T @ (embedded[modality] + bias - targets)
        alive = lengths[:, 0] > 1e-2
        np.testing.assert_allclose((slope + a / lengths)[alive], 0, atol=0.02)


def test_much_penalty_leaves_nothing(labelled, fitted):
    arrays = fitted(lgcfl(penalty=1e7), *labelled).arrays
    assert max(np.abs(arrays[f"map.{m}"]).max() for m in ("image", "text")) < 1e-4


def test_order_of_the_classes_is_the_order_of_the_axes(labelled, fitted):
    views, labels = labelled
    order = [2, 0, 3, 1]
    plain, permuted = (
        fitted(lgcfl(), views, x).arrays["map.image"] for x in (labels, labels[:, order])
    )
    np.testing.assert_allclose(permuted, plain[:, order], atol=1e-9)


def test_tolerance_stops_early(labelled, make_split):
    split = make_split(*labelled)
    assert len(curve(lgcfl(tolerance=0.01), split)) < len(curve(lgcfl(tolerance=1e-4), split)) < 30


def test_labels_are_needed(labelled, fitted):
    with pytest.raises(CrossmodalError, match="learns from labels"):
        fitted(lgcfl(), labelled[0])
