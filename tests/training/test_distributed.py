import pytest
import torch
from torch import nn

from tests.team import learn

LAYERS = {
    "linear": [nn.Linear(4, 3)],
    "batch norm": [nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Tanh(), nn.Linear(3, 2)],
    "dropout": [nn.Linear(4, 6), nn.Dropout(0.4), nn.Linear(6, 2), nn.Dropout(0.2)],
    "maps": [nn.Conv2d(2, 4, 1), nn.BatchNorm2d(4), nn.Dropout(0.3), nn.Flatten()],
}


@pytest.mark.parametrize("layers", LAYERS.values(), ids=LAYERS)
@pytest.mark.parametrize("count", [7, 3, 2])  # uneven shares, one row each, too few rows
def test_losses_gradients_and_state_are_those_of_one_process(team, rng, layers, count):
    shape = (count, 2, 3, 2) if isinstance(layers[0], nn.Conv2d) else (count, 4)
    x = torch.from_numpy(rng.standard_normal(shape))
    for parameter in nn.Sequential(*layers).parameters():
        parameter.data = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    together = team.call(learn, layers, x)
    alone = learn(layers, x)
    for found in together:
        torch.testing.assert_close(found, alone, rtol=1e-9, atol=1e-9)
