import pytest
import torch
from torch.nn.functional import conv2d

from crossmodal.nn.map_convolution import MapConvolution


def expected(layer, maps):
    side = layer.weight.shape[-1]
    convolved = conv2d(maps, layer.weight, layer.bias, padding=side // 2)
    return convolved.flatten(2).transpose(1, 2)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("side", [1, 3, 5])
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (3, 3), (4, 3), (7, 6)])
def test_positions_and_their_mean_are_those_of_a_convolution(side, size):
    layer, maps = MapConvolution(5, 4, side).double(), torch.randn(3, 5, *size).double()
    positions = expected(layer, maps)
    torch.testing.assert_close(layer(maps), positions)
    torch.testing.assert_close(layer.mean(maps), positions.mean(1))


@pytest.mark.parametrize("size", [(3, 3), (5, 4)])
@pytest.mark.parametrize("read", [MapConvolution.forward, MapConvolution.mean])
def test_gradients_are_right(size, read):
    layer, maps = MapConvolution(5, 4, 3).double(), torch.randn(2, 5, *size).double()
    maps.requires_grad_()
    inputs = (layer.weight, layer.bias, maps)
    assert torch.autograd.gradcheck(lambda *_: read(layer, maps), inputs)


def test_begins_as_pytorchs_convolution():
    torch.manual_seed(3)
    layer = MapConvolution(5, 4, 3)
    torch.manual_seed(3)
    other = torch.nn.Conv2d(5, 4, 3, padding=1)
    assert torch.equal(layer.weight, other.weight)
    assert layer.state_dict().keys() == other.state_dict().keys()
