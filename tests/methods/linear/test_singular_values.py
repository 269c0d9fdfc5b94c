import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from crossmodal.methods._linear.singular_values import soft_threshold, soft_threshold_factors


def test_it_minimises_the_proximal_problem(rng):
    matrix = rng.standard_normal((3, 3))

    def objective(x):
        x = x.reshape(3, 3)
        return ((x - matrix) ** 2).sum() / 2 + 0.4 * np.linalg.norm(x, "nuc")

    found = soft_threshold(torch.from_numpy(matrix), 0.4).numpy()
    best = min(minimize(objective, start).fun for start in (matrix.ravel(), found.ravel()))
    assert objective(found.ravel()) <= best + 1e-9


@pytest.mark.parametrize("shape", [(7, 4), (4, 7)])
def test_singular_values_shrink_and_directions_stay(rng, shape):
    matrix = torch.from_numpy(rng.standard_normal(shape))
    values = torch.linalg.svdvals(matrix)
    found = soft_threshold(matrix, float(values[1]))
    assert torch.linalg.matrix_rank(found) == 1
    torch.testing.assert_close(torch.linalg.svdvals(found)[0], values[0] - values[1])
    assert not soft_threshold(matrix, float(values[0]) + 1).any()


def test_factors_share_the_nuclear_norm(rng):
    matrix = torch.from_numpy(rng.standard_normal((7, 4)))
    threshold = float(torch.linalg.svdvals(matrix)[2])
    found = soft_threshold(matrix, threshold)
    factors = soft_threshold_factors(matrix, threshold)
    assert [factor.shape for factor in factors] == [(7, 2), (4, 2)]
    torch.testing.assert_close(factors[0] @ factors[1].T, found)
    nuclear = torch.linalg.matrix_norm(found, "nuc")
    for factor in factors:
        torch.testing.assert_close(factor.square().sum(), nuclear)
