import numpy as np
import pytest
import torch
from sklearn.cross_decomposition import CCA

from crossmodal.errors import CrossmodalError
from crossmodal.nn.correlation import total_correlation


@pytest.fixture
def outputs():
    """Two correlated sets of 30 rows of 4 outputs."""
    generator = torch.Generator().manual_seed(0)
    shared, *noise = (torch.randn(30, 4, generator=generator, dtype=float) for _ in range(3))
    return [shared + rows + 3 for rows in noise]


def literal(first, second, ridge):
    """The definition, which autograd differentiates."""
    h1, h2 = first - first.mean(0), second - second.mean(0)
    count = len(h1) - 1
    roots = []
    for h in (h1, h2):
        values, vectors = torch.linalg.eigh(h.T @ h / count + ridge * torch.eye(4, dtype=float))
        roots.append(vectors @ torch.diag(values**-0.5) @ vectors.T)
    return torch.linalg.svdvals(roots[0] @ (h1.T @ h2 / count) @ roots[1]).sum()


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_value_and_gradient_are_those_of_the_definition(outputs, ridge):
    for h in outputs:
        h.requires_grad_()
    found, expected = total_correlation(*outputs, ridge), literal(*outputs, ridge)
    assert found.item() == pytest.approx(expected.item(), rel=1e-12)
    gradients = zip(
        torch.autograd.grad(found, outputs), torch.autograd.grad(expected, outputs), strict=True
    )
    for a, b in gradients:
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_gradients_are_those_of_finite_differences(outputs, ridge):
    for h in outputs:
        h.requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: total_correlation(a, b, ridge), outputs)


def test_value_is_the_sum_of_the_correlations_of_scikit_learn(outputs):
    first, second = (h.numpy() for h in outputs)
    a, b = CCA(4, scale=False, max_iter=10_000, tol=1e-12).fit_transform(first, second)
    correlations = [np.corrcoef(a[:, k], b[:, k])[0, 1] for k in range(4)]
    assert total_correlation(*outputs, 0.0).item() == pytest.approx(sum(correlations), rel=1e-5)


def test_invertible_maps_change_nothing_without_ridge(outputs):
    first, second = outputs
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randn(4, 4, generator=generator, dtype=float) for _ in range(2))
    expected = total_correlation(first, second, 0.0)
    torch.testing.assert_close(total_correlation(first @ a + 2, second @ b - 5, 0.0), expected)


def test_the_largest_value_is_reached_by_equal_outputs(outputs):
    first, second = outputs
    assert total_correlation(first, first, 0.0).item() == pytest.approx(4)
    assert 0 < total_correlation(first, second, 0.0) < 4


def test_single_precision_gets_single_precision_gradients(outputs):
    first, second = (h.float().requires_grad_() for h in outputs)
    total_correlation(first, second, 0.1).backward()
    assert first.grad.dtype == second.grad.dtype == torch.float32


def test_a_batch_no_larger_than_the_outputs_is_refused(outputs):
    first, second = (h[:4] for h in outputs)
    with pytest.raises(CrossmodalError, match="4 pairs is too small"):
        total_correlation(first, second, 0.1)
