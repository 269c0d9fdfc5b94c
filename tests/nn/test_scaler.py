import numpy as np
import pytest
import torch
from sklearn.preprocessing import StandardScaler

from crossmodal.nn.scaler import Scaler


def test_zscores_are_those_of_the_training_rows(rng):
    train, other = (torch.from_numpy(rng.gamma(2, 3, (20, 4))) for _ in range(2))
    train[:, 2] = 7.0
    scaler = Scaler(4, "zscore").double()
    scaler.fit(train)
    expected = StandardScaler().fit(train.numpy()).transform(other.numpy())
    np.testing.assert_allclose(scaler(other).numpy(), expected, rtol=1e-6)


def test_centred_columns_keep_their_ratios_and_have_a_mean_variance_of_one(rng):
    train = torch.from_numpy(rng.gamma(2, 3, (20, 4)) * [1, 5, 0, 2])
    scaler = Scaler(4, "centre").double()
    scaler.fit(train)
    found = scaler(train)
    assert found.var(0, correction=0).mean().item() == pytest.approx(1)
    ratio = (train - train.mean(0)) / found
    torch.testing.assert_close(ratio[:, [0, 1, 3]], ratio[0, 0].expand(20, 3))


def test_a_constant_view_stays_finite():
    scaler = Scaler(2, "centre")
    scaler.fit(torch.full((5, 2), 3.0))
    assert (scaler(torch.full((5, 2), 3.0)) == 0).all()


@pytest.mark.parametrize("kind", ["raw", "l2"])
def test_other_kinds_learn_nothing(rng, kind):
    x = torch.from_numpy(rng.standard_normal((20, 4)))
    scaler = Scaler(4, kind)
    scaler.fit(x)
    lengths = x.norm(dim=1, keepdim=True) if kind == "l2" else 1
    torch.testing.assert_close(scaler(x), x / lengths)
