import numpy as np
import pytest
from sklearn.decomposition import PCA

from crossmodal.learning import scaling
from crossmodal.learning.scaling import Scaling
from crossmodal.methods._online.preprocessing import Preprocessing, PreprocessingOptions


def preprocessed(rows, kind, pca_energy=None):
    options = PreprocessingOptions(scaling=kind, pca_energy=pca_energy)
    state = Preprocessing.fit(rows, options).state()
    return Preprocessing(kind, state).transform(rows)


@pytest.fixture
def features(rng):
    return rng.standard_normal((90, 6)) @ rng.standard_normal((6, 6)) + 3


def test_preprocessing_without_pca_is_scaling_in_float32(features):
    rows = preprocessed(features, "zscore-l2")
    assert rows.dtype == np.float32
    expected = Scaling.fit("zscore-l2", [features]).transform(features)
    np.testing.assert_allclose(rows, expected, atol=1e-6)


@pytest.mark.parametrize("energy", [0.5, 0.9, 1.0])
def test_components_agree_with_scikit_learn_uncentred(features, energy):
    rows = Scaling.fit("centre-l2", [features]).transform(features)
    pca = PCA(svd_solver="full").fit(rows)
    width = np.sum(np.cumsum(pca.explained_variance_ratio_) < energy - 1e-9) + 1
    result = preprocessed(features, "centre-l2", energy)
    expected = rows @ pca.components_[:width].T
    assert result.shape == expected.shape
    np.testing.assert_allclose(np.abs(result), np.abs(expected), atol=1e-4)


def test_preprocessing_block_size_invariant(features, monkeypatch):
    whole = preprocessed(features, "zscore-l2", 0.9)
    monkeypatch.setattr(scaling, "ROWS_PER_BLOCK", 7)
    blocks = preprocessed(features, "zscore-l2", 0.9)
    np.testing.assert_allclose(np.abs(whole), np.abs(blocks), atol=1e-5)
