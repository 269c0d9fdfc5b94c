import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import linear
from torch.nn.utils.rnn import pack_sequence

from crossmodal.nn import gru_in_bfloat16 as module
from crossmodal.nn.gru import gru_states

LENGTHS, WIDTH, DIMS, DISTINCT = (7, 7, 4, 3, 3, 1), 24, 40, 9


@pytest.fixture
def gru():
    torch.manual_seed(0)
    return nn.GRU(WIDTH, DIMS)


@pytest.fixture
def rows():
    """Sequences that share inputs, as captions share words."""
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.randint(DISTINCT, (length,), generator=generator) for length in LENGTHS]
    return pack_sequence(drawn)


def packed_states(x, rows, gru):
    return gru_states(x, rows.data, rows.batch_sizes.tolist(), gru.weight_hh_l0, gru.bias_hh_l0)


def looped_states(x, rows, gru):
    """Step by step, with PyTorch's operations as they come."""
    h, states = x.new_zeros(len(LENGTHS), DIMS), []
    for row in rows.data.split(rows.batch_sizes.tolist()):
        h = h[: len(row)]
        y = linear(h, gru.weight_hh_l0, gru.bias_hh_l0)
        (x_r, x_u, x_g), (y_r, y_u, y_g) = x[row].chunk(3, 1), y.chunk(3, 1)
        r, u = (x_r + y_r).sigmoid(), (x_u + y_u).sigmoid()
        g = (x_g + r * y_g).tanh()
        h = u * h + (1 - u) * g
        states.append(h)
    return torch.cat(states)


def states_and_gradients(compute, gru, rows, dtype):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(DISTINCT, 3 * DIMS, generator=generator).to(dtype).requires_grad_()
    weights = torch.randn(sum(LENGTHS), DIMS, generator=generator)
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
        states = compute(x, rows, gru).float()
    trained = [x, gru.weight_hh_l0, gru.bias_hh_l0]
    gradients = torch.autograd.grad((states * weights).sum(), trained)
    return [states.detach(), *gradients]


def distances(found, exact):
    """Of each array, relative to its length."""
    return [float((a.float() - b).norm() / b.norm()) for a, b in zip(found, exact, strict=True)]


def test_states_and_gradients_are_as_near_as_a_loop_in_autocast(gru, rows):
    exact = states_and_gradients(looped_states, gru, rows, torch.float32)
    ours = states_and_gradients(packed_states, gru, rows, torch.bfloat16)
    loop = states_and_gradients(looped_states, gru, rows, torch.bfloat16)
    assert [x.dtype for x in ours[1:]] == [torch.bfloat16, torch.float32, torch.float32]
    assert distances(ours, exact)[0] > 1e-4  # else it is not in bfloat16
    for own, other in zip(distances(ours, exact), distances(loop, exact), strict=True):
        assert own < min(1.2 * other, 0.02)


def test_the_gradient_of_a_frequent_input_keeps_all_terms(gru):
    """4,096 of bfloat16, added one by one, would end at 256 times the first."""
    count = 4_096
    x = torch.zeros(1, 3 * DIMS, dtype=torch.bfloat16, requires_grad=True)
    rows = torch.zeros(count, dtype=torch.long)
    states = gru_states(x, rows, [count], gru.weight_hh_l0, gru.bias_hh_l0)
    (many,) = torch.autograd.grad(states.sum(), x)
    states = gru_states(x, rows[:1], [1], gru.weight_hh_l0, gru.bias_hh_l0)
    (one,) = torch.autograd.grad(states.sum(), x)
    torch.testing.assert_close(many, count * one, rtol=0.01, atol=0)


def test_bits_are_rounded_as_by_pytorch(rng):
    numbers = (rng.standard_normal(10_000) * 10.0 ** rng.integers(-30, 30, 10_000)).astype("f4")
    found = np.array([module._narrow(number) for number in numbers], np.uint16)
    expected = torch.from_numpy(numbers).bfloat16()
    np.testing.assert_array_equal(found, expected.view(torch.uint16).numpy())
    widened = [module._wide(bits) for bits in found]
    np.testing.assert_array_equal(widened, expected.float().numpy())


def test_sigmoid_is_within_a_tenth_of_a_step_of_bfloat16():
    x = np.linspace(-100, 100, 20_001, dtype=np.float32)
    found = np.array([module._sigmoid(number) for number in x])
    expected = torch.from_numpy(x).double().sigmoid().numpy()
    np.testing.assert_allclose(found, expected, rtol=2**-9 / 10, atol=1e-30)
