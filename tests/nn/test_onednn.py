import pytest
import torch
from torch import nn

from crossmodal.nn.onednn import Linear, linear, product


def matrix(rows, columns, seed=0):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("rows", "columns"), [(0, 40), (1, 40), (7, 1), (7, 0), (128, 40)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_product_is_that_of_double_precision(rows, columns, dtype):
    a, b = matrix(rows, columns).to(dtype), matrix(30, columns, 1).to(dtype)
    expected = (a.double() @ b.double().T).to(dtype)
    torch.testing.assert_close(product(a, b), expected)


def test_product_takes_transposes():
    a, b = matrix(40, 7), matrix(40, 30, 1)
    torch.testing.assert_close(product(a.T, b.T), a.T @ b)


@pytest.mark.parametrize("bias", [True, False])
def test_layer_and_gradients_are_those_of_pytorch(bias):
    torch.manual_seed(0)
    ours, theirs = Linear(40, 30, bias=bias), nn.Linear(40, 30, bias=bias)
    theirs.load_state_dict(ours.state_dict())
    weights, found = matrix(7, 30, 1), []
    for layer in (ours, theirs):
        x = matrix(7, 40).requires_grad_()
        y = layer(x)
        gradients = torch.autograd.grad((y * weights).sum(), [x, *layer.parameters()])
        found.append([y, *gradients])
    for mine, other in zip(*found, strict=True):
        torch.testing.assert_close(mine, other)


def test_gradients_that_nobody_needs_are_not_computed():
    x, weight = matrix(7, 40), matrix(30, 40, 1).requires_grad_()
    linear(x, weight, None).sum().backward()
    torch.testing.assert_close(weight.grad, x.sum(0).expand(30, 40))
    assert x.grad is None


def test_gradients_of_a_sum_have_no_strides():
    """The gradient of a sum is one number seen from everywhere, which is not contiguous."""
    x, weight = matrix(7, 40).requires_grad_(), matrix(30, 40, 1)
    linear(x, weight, None).sum().backward()
    torch.testing.assert_close(x.grad, weight.sum(0).expand(7, 40))
