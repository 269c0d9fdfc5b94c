import pytest
import torch
from torch import nn
from torch.nn.functional import batch_norm, conv1d

from crossmodal.nn.resdavenet import ResDAVEnet


@pytest.fixture
def frames():
    return torch.randn(3, 75, 40, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def network():
    torch.manual_seed(0)
    return ResDAVEnet(width=0.05).eval()


def parameters(network):
    return sum(p.numel() for p in network.parameters())


def test_full_width_has_the_published_number_of_parameters():
    network = ResDAVEnet(width=1.0)
    stem, stages = network.layers[:3], [network.layers[i : i + 2] for i in (3, 5, 7, 9)]
    assert parameters(stem) == 5_376
    assert [parameters(s) for s in stages] == [607_488, 2_099_712, 8_393_728, 33_564_672]
    assert parameters(network) == 44_670_978


@pytest.mark.parametrize("length", [1, 15, 16, 17, 37, 410, 2048])
def test_sixteen_frames_make_a_step_rounded_up(network, length):
    with torch.inference_mode():
        assert network(torch.zeros(1, length, 40)).shape == (1, -(-length // 16), 51)


def normed(norm, x):
    return batch_norm(x, norm.running_mean, norm.running_var, norm.weight, norm.bias)


def with_conv1d(network, frames):
    """The same network as the paper has it: over time, block by block."""
    x = conv1d(frames.transpose(1, 2), network.layers[0].weight.squeeze(2))
    x = normed(network.layers[1], x).relu()
    for stride, block in zip([2, 1] * 4, network.layers[3:], strict=True):
        first, norm1, _, second, norm2 = block.residual
        y = normed(norm1, conv1d(x, first.weight.squeeze(2), stride=stride, padding=4)).relu()
        y = normed(norm2, conv1d(y, second.weight.squeeze(2), padding=4))
        if stride == 2:
            convolution, norm = block.shortcut
            x = normed(norm, conv1d(x, convolution.weight.squeeze(2), stride=2))
        x = (y + x).relu()
    return x.transpose(1, 2)


def test_equals_residual_blocks_over_time(network, frames):
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.uniform_(layer.running_mean)
            nn.init.uniform_(layer.running_var, 0.5, 2)
    torch.testing.assert_close(network(frames), with_conv1d(network, frames))


def test_weights_start_with_the_released_scale():
    network = ResDAVEnet(width=1.0)
    stem, block = network.layers[0], network.layers[7]
    assert stem.weight.std().item() == pytest.approx((2 / (40 * 128)) ** 0.5, rel=0.05)
    assert block.residual[0].weight.std().item() == pytest.approx((2 / (9 * 512)) ** 0.5, rel=0.01)


def test_the_input_norm_is_not_applied(network, frames):
    expected = network(frames)
    nn.init.constant_(network.input_norm.weight, 7)
    assert torch.equal(network(frames), expected)
