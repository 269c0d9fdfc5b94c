import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence

from crossmodal.nn import gru as module
from crossmodal.nn.gru import backward_order, gru_states

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
    torch.manual_seed(0)
    return nn.GRU(WIDTH, DIMS).double()


def run(gru, sequences):
    """All states, packed."""
    packed = pack_sequence(sequences)
    inputs = nn.functional.linear(packed.data, gru.weight_ih_l0, gru.bias_ih_l0)
    places, sizes = torch.arange(len(inputs)), packed.batch_sizes.tolist()
    return gru_states(inputs, places, sizes, gru.weight_hh_l0, gru.bias_hh_l0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def looped(steps, gru):
    """States of one sequence by the equations, gate by gate."""
    weights = {name: value.detach().numpy() for name, value in gru.named_parameters()}
    w_r, w_u, w_g = np.split(weights["weight_ih_l0"], 3)
    u_r, u_u, u_g = np.split(weights["weight_hh_l0"], 3)
    b_r, b_u, b_g = np.split(weights["bias_ih_l0"], 3)
    c_r, c_u, c_g = np.split(weights["bias_hh_l0"], 3)
    h, states = np.zeros(DIMS), []
    for e in steps.numpy():
        r = sigmoid(u_r @ h + c_r + w_r @ e + b_r)
        u = sigmoid(u_u @ h + c_u + w_u @ e + b_u)
        g = np.tanh(r * (u_g @ h + c_g) + w_g @ e + b_g)
        h = u * h + (1 - u) * g
        states.append(h)
    return states


def test_states_are_those_of_the_equations(gru, sequences):
    expected = pack_sequence([torch.tensor(np.stack(looped(x, gru))) for x in sequences]).data
    torch.testing.assert_close(run(gru, sequences), expected, rtol=0, atol=1e-15)


def test_states_and_gradients_are_those_of_pytorch(gru, sequences):
    for steps in sequences:
        steps.requires_grad_()
    weights = torch.linspace(-1, 1, 25 * DIMS, dtype=torch.float64).reshape(25, DIMS)
    found = []
    for states in (run(gru, sequences), gru(pack_sequence(sequences))[0].data):
        trained = [*gru.parameters(), *sequences]
        found.append([states, *torch.autograd.grad((states * weights).sum(), trained)])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-14)


@pytest.mark.parametrize("by_mkl", [False, True])
def test_either_library_gives_the_states_and_gradients(gru, sequences, monkeypatch, by_mkl):
    expected = [
        run(gru, sequences),
        *torch.autograd.grad(run(gru, sequences).sum(), gru.parameters()),
    ]
    monkeypatch.setattr(module, "_mkl_is_faster", lambda: by_mkl)
    single = [x.float() for x in sequences]
    states = run(gru.float(), single)
    for ours, wanted in zip(
        [states, *torch.autograd.grad(states.sum(), gru.parameters())], expected, strict=True
    ):
        torch.testing.assert_close(ours, wanted.float(), rtol=1e-4, atol=1e-5)


def test_portable_products_are_onednns(monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    module._mkl_is_faster.cache_clear()
    assert not module._mkl_is_faster()
    module._mkl_is_faster.cache_clear()


def test_gradients_are_those_of_finite_differences():
    """With inputs that several steps share."""
    generator = torch.Generator().manual_seed(0)
    inputs, weight, bias = (
        torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in ((3, 3 * DIMS), (3 * DIMS, DIMS), (3 * DIMS,))
    )
    places = torch.tensor([0, 2, 0, 1, 1, 0])
    assert torch.autograd.gradcheck(
        lambda x, u, b: gru_states(x, places, [3, 2, 1], u, b), (inputs, weight, bias)
    )


def test_backward_order_reads_each_sequence_from_its_end(sequences):
    packed = pack_sequence(sequences)
    backward = pack_sequence([steps.flip(0) for steps in sequences])
    order = backward_order(packed.batch_sizes.tolist())
    assert torch.equal(packed.data[order], backward.data)
