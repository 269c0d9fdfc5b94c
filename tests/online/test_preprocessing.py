import numpy as np
import pytest
from sklearn.decomposition import PCA

from crossmodal.online import preprocessing
from crossmodal.online.preprocessing import fit_preprocessing, preprocess


@pytest.fixture
def features():
    rng = np.random.default_rng(0)
    return rng.standard_normal((90, 6)) @ rng.standard_normal((6, 6)) + 3


def expected_rows(features, fitted, scale):
    rows = (features - fitted.mean(axis=0)) / scale
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("normalise", ["zscore-l2", "centre-l2"])
def test_other_rows_are_scaled_by_the_statistics_of_the_training_rows(features, normalise):
    train, test = features[:60], features[60:]
    scale = train.std(axis=0) if normalise == "zscore-l2" else 1
    rows = preprocess(test, fit_preprocessing(train, normalise, None))
    np.testing.assert_allclose(rows, expected_rows(test, train, scale), atol=1e-5)


def test_constant_columns_and_mean_rows_become_zero(features):
    features[:, 2] = 7
    statistics = fit_preprocessing(features, "zscore-l2", None)
    rows = preprocess(np.vstack([features, statistics["mean"]]), statistics)
    assert np.isfinite(rows).all()
    assert not rows[:, 2].any()
    assert not rows[-1].any()


@pytest.mark.parametrize("energy", [0.5, 0.9, 1.0])
def test_components_agree_with_scikit_learn_and_are_applied_without_centring(features, energy):
    rows = expected_rows(features, features, 1)
    pca = PCA(svd_solver="full").fit(rows)
    kept = np.sum(np.cumsum(pca.explained_variance_ratio_) < energy - 1e-9) + 1
    found = preprocess(features, fit_preprocessing(features, "centre-l2", energy))
    expected = rows @ pca.components_[:kept].T
    assert found.shape == expected.shape
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)


def test_the_size_of_blocks_changes_nothing(features, monkeypatch):
    whole = preprocess(features, fit_preprocessing(features, "zscore-l2", 0.9))
    monkeypatch.setattr(preprocessing, "ROWS_PER_BLOCK", 7)
    blocks = preprocess(features, fit_preprocessing(features, "zscore-l2", 0.9))
    np.testing.assert_allclose(np.abs(whole), np.abs(blocks), atol=1e-5)
