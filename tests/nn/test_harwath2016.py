import pytest
import torch
from torch.nn.functional import conv1d, max_pool1d

from crossmodal.nn.harwath2016 import Harwath2016


def test_full_width_has_three_layers_of_the_published_sizes():
    convolutions = Harwath2016(width=1.0).layers[::3]
    assert [tuple(layer.weight.shape) for layer in convolutions] == [
        (64, 40, 1, 5),
        (512, 64, 1, 25),
        (1024, 512, 1, 25),
    ]


@pytest.mark.parametrize("length", [16, 48, 1024])
def test_four_frames_make_a_step(length):
    with torch.inference_mode():
        assert Harwath2016(width=0.02)(torch.zeros(1, length, 40)).shape == (1, length // 4, 20)


def test_equals_convolutions_and_pools_over_time():
    network = Harwath2016(width=0.1)
    frames = torch.randn(2, 64, 40)
    x = frames.transpose(1, 2)
    for index, layer in enumerate(network.layers[::3]):
        x = max_pool1d(x, 4, 2, 1) if index else x
        x = conv1d(x, layer.weight.squeeze(2), layer.bias, padding=layer.kernel_size[1] // 2).relu()
    torch.testing.assert_close(network(frames), x.transpose(1, 2))
