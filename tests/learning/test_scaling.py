from typing import get_args

import numpy as np
import pytest
import torch
from sklearn.preprocessing import StandardScaler

from crossmodal.learning.scaling import Kind, Scaling
from crossmodal.learning.scaling_layer import ScalingLayer

KINDS = get_args(Kind)


@pytest.fixture
def train(rng):
    return rng.gamma(2, 3, (60, 4)) * [1, 5, 0.5, 2]


@pytest.fixture
def other(rng):
    return rng.gamma(2, 3, (30, 4))


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def step_by_step(kind, train, rows):
    """Scale by the steps of the kind's name, from left to right."""
    for step in kind.split("-"):
        if step == "l2":
            train, rows = unit(train), unit(rows)
        elif step == "scale":
            rows = rows / np.sqrt(train.var(axis=0).mean())
        elif step != "raw":
            scale = train.std(axis=0) if step == "zscore" else 1
            train, rows = ((x - train.mean(axis=0)) / scale for x in (train, rows))
    return rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parts", [1, 9])
def test_scaling_takes_the_steps_of_its_name(train, other, kind, parts):
    scaling = Scaling.fit(kind, np.array_split(train, parts))
    again = Scaling(kind, **scaling.state())
    np.testing.assert_allclose(again.transform(other), step_by_step(kind, train, other))


@pytest.mark.parametrize("kind", KINDS)
def test_layer_agrees_with_scaling(train, other, kind):
    layer = ScalingLayer(4, kind).double()
    layer.fit(torch.from_numpy(train))
    expected = Scaling.fit(kind, [train]).transform(other)
    np.testing.assert_allclose(layer(torch.from_numpy(other)).numpy(), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_scaling_of_bytes_agrees_with_floats(kind):
    codes = np.random.default_rng(0).integers(-1, 2, (20, 200), np.int8)
    expected = Scaling.fit(kind, [codes.astype(float)]).transform(codes)
    np.testing.assert_allclose(Scaling.fit(kind, [codes]).transform(codes), expected)


def test_zscores_agree_with_scikit_learn(train, other):
    train[:, 2] = 7
    expected = StandardScaler().fit(train).transform(other)
    np.testing.assert_allclose(Scaling.fit("zscore", [train]).transform(other), expected)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("raw", "l2")])
def test_constant_columns_and_mean_rows_become_zero(kind):
    constant = np.full((5, 2), 3.0)
    layer = ScalingLayer(2, kind)
    layer.fit(torch.from_numpy(constant).float())
    assert not layer(torch.full((5, 2), 3.0)).any()
    assert not Scaling.fit(kind, [constant]).transform(constant).any()


def test_precision_is_that_of_the_statistics(train):
    rows = Scaling.fit("zscore-l2", [train]).astype(np.float32).transform(train)
    assert rows.dtype == np.float32
