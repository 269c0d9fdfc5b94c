from typing import get_args

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from crossmodal.learning.scaling import Scaling
from crossmodal.methods._online import preprocessing
from crossmodal.methods._online.preprocessing import (
    PreprocessingOptions,
    fit_preprocessing,
    preprocess,
)
from crossmodal.nn.scaler import Scaler

SCALINGS = get_args(Scaling)


def scaled(train, rows, scaling, pca_energy=None):
    options = PreprocessingOptions(scaling=scaling, pca_energy=pca_energy)
    return preprocess(rows, fit_preprocessing(train, options), scaling)


@pytest.fixture
def features():
    rng = np.random.default_rng(0)
    return rng.standard_normal((90, 6)) @ rng.standard_normal((6, 6)) + 3


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def expected_rows(train, rows, scaling):
    """As the name says, from left to right."""
    for step in scaling.split("-"):
        if step == "l2":
            train, rows = unit(train), unit(rows)
        elif step in ("centre", "zscore"):
            scale = train.std(axis=0) if step == "zscore" else 1
            train, rows = ((x - train.mean(axis=0)) / scale for x in (train, rows))
    return rows


@pytest.mark.parametrize("scaling", SCALINGS)
def test_other_rows_are_scaled_by_the_statistics_of_the_training_rows(features, scaling):
    train, test = features[:60], features[60:]
    expected = expected_rows(train, test, scaling)
    np.testing.assert_allclose(scaled(train, test, scaling), expected, atol=1e-5)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_networks_scale_in_the_same_way(features, scaling):
    train, test = (torch.from_numpy(x).float() for x in (features[:60], features[60:]))
    scaler = Scaler(6, scaling)
    scaler.fit(train)
    found = scaled(train.numpy(), test.numpy(), scaling)
    np.testing.assert_allclose(scaler(test).numpy(), found, atol=1e-5)


def test_constant_columns_and_mean_rows_become_zero(features):
    features[:, 2] = 7
    rows = scaled(features, np.vstack([features, features.mean(axis=0)]), "zscore-l2")
    assert np.isfinite(rows).all()
    assert not rows[:, 2].any()
    np.testing.assert_allclose(np.linalg.norm(rows[:-1], axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("energy", [0.5, 0.9, 1.0])
def test_components_agree_with_scikit_learn_and_are_applied_without_centring(features, energy):
    rows = expected_rows(features, features, "centre-l2")
    pca = PCA(svd_solver="full").fit(rows)
    kept = np.sum(np.cumsum(pca.explained_variance_ratio_) < energy - 1e-9) + 1
    found = scaled(features, features, "centre-l2", energy)
    expected = rows @ pca.components_[:kept].T
    assert found.shape == expected.shape
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)


def test_the_size_of_blocks_changes_nothing(features, monkeypatch):
    whole = scaled(features, features, "zscore-l2", 0.9)
    monkeypatch.setattr(preprocessing, "ROWS_PER_BLOCK", 7)
    blocks = scaled(features, features, "zscore-l2", 0.9)
    np.testing.assert_allclose(np.abs(whole), np.abs(blocks), atol=1e-5)
