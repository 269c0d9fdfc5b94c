import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import MultiTaskLasso

from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.methods.lgcfl import LGCFL

OPTIONS = {
    "penalty": 1.0,
    "dragging": True,
    "iterations": 30,
    "tolerance": 0.0,
    "input_norm": "raw",
}


def lgcfl(**options):
    return LGCFL(**OPTIONS | options)


def curve(method, split):
    run = Run(seed=0)
    method.fit(split, split, run)
    return [row["objective"] for row in run.curve]


def test_little_penalty_and_no_dragging_is_least_squares(labelled, fitted):
    views, labels = labelled
    method = fitted(lgcfl(penalty=1e-9, dragging=False), views, labels)
    for modality, x in views.items():
        target = labels - labels.mean(axis=0)
        expected = np.linalg.lstsq(x - x.mean(axis=0), target, rcond=None)[0]
        found = method.arrays[f"map.{modality}"]
        np.testing.assert_allclose(found, expected, atol=1e-8)
        lda = LinearDiscriminantAnalysis(solver="eigen").fit(x, labels.argmax(axis=1))
        span = np.linalg.svd(found)[0][:, :3]  # indicators of four classes have rank 3
        np.testing.assert_allclose(subspace_angles(span, lda.scalings_[:, :3]), 0, atol=1e-6)


def test_without_dragging_it_is_the_multi_task_lasso(labelled, fitted):
    views, labels = labelled
    method = fitted(lgcfl(penalty=20.0, dragging=False, iterations=500), views, labels)
    for modality, x in views.items():
        peer = MultiTaskLasso(alpha=20 / 300, tol=1e-12).fit(x, labels.astype(float))
        np.testing.assert_allclose(method.arrays[f"map.{modality}"], peer.coef_.T, atol=2e-3)


@pytest.mark.parametrize("dragging", [True, False])
def test_the_objective_never_rises_and_dragging_lowers_it(labelled, make_split, dragging):
    split = make_split(*labelled)
    objectives = curve(lgcfl(dragging=dragging), split)
    assert (np.diff(objectives) <= 1e-9).all()
    still = curve(lgcfl(dragging=False), split)[-1]
    assert (objectives[-1] < still - 1) == dragging


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
