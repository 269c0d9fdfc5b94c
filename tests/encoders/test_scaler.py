import numpy as np
import pytest
import torch
from sklearn.preprocessing import StandardScaler

from crossmodal.encoders.scaler import Scaler


def test_zscores_are_those_of_the_training_rows(rng):
    train, other = (torch.from_numpy(rng.gamma(2, 3, (20, 4))) for _ in range(2))
    train[:, 2] = 7.0
    scaler = Scaler(4, "zscore").double()
    scaler.fit(train)
    expected = StandardScaler().fit(train.numpy()).transform(other.numpy())
    np.testing.assert_allclose(scaler(other).numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["raw", "l2"])
def test_other_kinds_learn_nothing(rng, kind):
    x = torch.from_numpy(rng.standard_normal((20, 4)))
    scaler = Scaler(4, kind)
    scaler.fit(x)
    lengths = x.norm(dim=1, keepdim=True) if kind == "l2" else 1
    torch.testing.assert_close(scaler(x), x / lengths)
