import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence

from crossmodal.encoders.gru import last_states

WIDTH, DIMS = 5, 4


@pytest.fixture
def sequences():
    """Sequences of 1 to 7 steps, the longest first."""
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randn(length, WIDTH, generator=generator, dtype=torch.float64)
        for length in (7, 7, 4, 3, 3, 1)
    ]


@pytest.fixture
def gru():
    """PyTorch's GRU with its second bias at zero."""
    torch.manual_seed(0)
    gru = nn.GRU(WIDTH, DIMS).double()
    nn.init.zeros_(gru.bias_hh_l0)
    return gru


def run(gru, sequences):
    packed = pack_sequence(sequences)
    inputs = nn.functional.linear(packed.data, gru.weight_ih_l0, gru.bias_ih_l0)
    places = torch.arange(len(inputs))
    return last_states(inputs, places, packed.batch_sizes.tolist(), gru.weight_hh_l0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def looped(steps, gru):
    """Last state of one sequence by the equations, gate by gate."""
    weights = {name: value.detach().numpy() for name, value in gru.named_parameters()}
    w_r, w_u, w_g = np.split(weights["weight_ih_l0"], 3)
    u_r, u_u, u_g = np.split(weights["weight_hh_l0"], 3)
    b_r, b_u, b_g = np.split(weights["bias_ih_l0"], 3)
    h = np.zeros(DIMS)
    for e in steps.numpy():
        r = sigmoid(u_r @ h + w_r @ e + b_r)
        u = sigmoid(u_u @ h + w_u @ e + b_u)
        g = np.tanh(r * (u_g @ h) + w_g @ e + b_g)
        h = u * h + (1 - u) * g
    return h


def test_states_are_those_of_the_equations(gru, sequences):
    expected = np.stack([looped(steps, gru) for steps in sequences])
    np.testing.assert_allclose(run(gru, sequences).detach(), expected, rtol=0, atol=1e-15)


def test_states_and_gradients_are_those_of_pytorch(gru, sequences):
    for steps in sequences:
        steps.requires_grad_()
    weights = torch.linspace(-1, 1, len(sequences) * DIMS, dtype=torch.float64)
    found = []
    for states in (run(gru, sequences), gru(pack_sequence(sequences))[1][0]):
        loss = (states.flatten() * weights).sum()
        trained = [gru.weight_ih_l0, gru.weight_hh_l0, gru.bias_ih_l0, *sequences]
        found.append([states, *torch.autograd.grad(loss, trained)])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-14)


def test_gradients_are_those_of_finite_differences():
    """With inputs that several steps share."""
    generator = torch.Generator().manual_seed(0)
    inputs, weight = (
        torch.randn(rows, columns, generator=generator, dtype=torch.float64, requires_grad=True)
        for rows, columns in ((3, 3 * DIMS), (3 * DIMS, DIMS))
    )
    places = torch.tensor([0, 2, 0, 1, 1, 0])
    assert torch.autograd.gradcheck(
        lambda x, u: last_states(x, places, [3, 2, 1], u), (inputs, weight)
    )
