import pytest
import torch
from torch import nn
from torch.nn.functional import conv1d, conv2d, max_pool1d

from crossmodal.nn.davenet import DAVEnet


@pytest.fixture
def frames():
    return torch.randn(3, 75, 40, generator=torch.Generator().manual_seed(0))


def parameters(network):
    return sum(p.numel() for p in network.parameters())


def with_conv1d(network, frames):
    """The same network on spectrograms (b, 40, t), as the paper's table has it."""
    convolutions = [layer for layer in network.layers if isinstance(layer, nn.Conv2d)]
    x = network.input_norm(frames.transpose(1, 2)[:, None])  # (b, 1, 40, t)
    first = convolutions[0]
    x = conv2d(x, first.weight.permute(0, 2, 1, 3), first.bias).squeeze(2).relu()
    for layer in convolutions[1:]:
        x = conv1d(x, layer.weight.squeeze(2), layer.bias, padding=layer.kernel_size[1] // 2)
        x = max_pool1d(x.relu(), kernel_size=3, stride=2, padding=1)
    return x.transpose(1, 2)


def test_full_width_has_the_published_number_of_parameters():
    network = DAVEnet(width=1.0)
    layers = [parameters(layer) for layer in network.layers if parameters(layer)]
    assert layers == [5_248, 360_704, 2_228_736, 4_456_960, 8_913_920]
    assert parameters(network.input_norm) == 2
    assert parameters(network) == 15_965_570


def test_width_scales_every_layer():
    network = DAVEnet(width=0.25)
    convolutions = [layer for layer in network.layers if isinstance(layer, nn.Conv2d)]
    assert [layer.out_channels for layer in convolutions] == [32, 64, 128, 128, 256]
    assert network.channels == 256


@pytest.mark.parametrize("length", [1, 15, 16, 17, 37, 410, 2048])
def test_sixteen_frames_make_a_step_rounded_up(length):
    with torch.inference_mode():
        found = DAVEnet(width=0.02)(torch.zeros(1, length, 40))
    assert found.shape[1] == -(-length // 16)


@pytest.mark.parametrize("training", [True, False])
def test_equals_conv1d_over_spectrograms(frames, training):
    network = DAVEnet(width=0.125).train(training)
    found, expected = network(frames), with_conv1d(network, frames)
    torch.testing.assert_close(found, expected)
    gradients = [
        torch.autograd.grad(x.square().sum(), network.parameters()) for x in (found, expected)
    ]
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b)


def test_padding_changes_the_last_steps_alone(frames):
    """Those that hear it: 5 + 16 + 32 + 64 frames of convolutions, 1 + 2 + 4 + 8 of pools."""
    network = DAVEnet(width=0.125).eval()
    clip = torch.randn(2, 400, 40, generator=torch.Generator().manual_seed(1))
    padded = torch.cat([clip, torch.zeros(2, 2048 - 400, 40)], dim=1)
    with torch.inference_mode():
        found, expected = network(clip), network(padded)[:, :25]
    alike = (400 - 132) // 16
    torch.testing.assert_close(found[:, :alike], expected[:, :alike])
    assert (found[:, -1] - expected[:, -1]).abs().max() > 1e-3


def test_input_norm_removes_level_and_scale_of_the_batch(frames):
    network = DAVEnet(width=0.125)
    torch.testing.assert_close(network(40 * frames - 60), network(frames), rtol=1e-3, atol=1e-4)
