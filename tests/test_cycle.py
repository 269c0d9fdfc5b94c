import math

import pytest
import torch
from torch.nn.functional import normalize

from crossmodal.cycle import reconstruct, two_stream_cycle_loss


@pytest.fixture
def batch():
    """Unit rows of two modalities, 6 pairs in 4 dimensions."""
    generator = torch.Generator().manual_seed(0)
    both = torch.randn(2, 6, 4, generator=generator, dtype=torch.float64)
    return normalize(both, dim=2)


def looped_reconstruction(queries, keys, beta):
    rows = []
    for query in queries:
        weights = [math.exp(beta * float(query @ key)) for key in keys]
        rows.append(sum(w / sum(weights) * key for w, key in zip(weights, keys, strict=True)))
    return torch.stack(rows)


@pytest.mark.parametrize("beta", [0.0, 2.0, 12.0])
def test_one_pair_comes_back_to_itself_whatever_it_is(beta):
    first, second = torch.tensor([[0.6, 0.8]]), torch.tensor([[-1.0, 0.0]])
    assert two_stream_cycle_loss(first, second, beta).item() == 0


@pytest.mark.parametrize(("n", "beta", "loss"), [(4, 2.0, 4.483969), (32, 4.0, 54.035046)])
def test_closed_form_of_matched_orthonormal_rows(n, beta, loss):
    rows = torch.eye(n, dtype=torch.float64)
    found = two_stream_cycle_loss(rows, rows, beta).item()
    first = math.expm1(beta) / (math.exp(beta) + n - 1)
    second = math.expm1(beta * first**2) / (math.exp(beta * first**2) + n - 1)
    assert found == pytest.approx(2 * (n - 1) * (1 - first * second) ** 2)
    assert found == pytest.approx(loss, abs=5e-7)


def test_collapse_is_a_minimum():
    rows = normalize(torch.ones(5, 3, dtype=torch.float64)).requires_grad_()
    loss = two_stream_cycle_loss(rows, rows, 4.0)
    loss.backward()
    assert loss.item() == pytest.approx(0)
    torch.testing.assert_close(rows.grad, torch.zeros_like(rows))


def test_without_temperature_a_reconstruction_is_the_mean_of_the_other_modality(batch):
    first, second = batch
    torch.testing.assert_close(reconstruct(first, second, 0.0)[3], second.mean(0))
    # the second round exchanges the means again
    around = sum((rows - rows.mean(0)).square().sum() for rows in batch)
    torch.testing.assert_close(two_stream_cycle_loss(first, second, 0.0), around)


def test_cold_softmax_of_matched_rows_closes_every_cycle(batch):
    assert two_stream_cycle_loss(batch[0], batch[0], 1e3).item() < 1e-6


@pytest.mark.parametrize("beta", [2.0, 12.0])
def test_equals_loops_over_rows(batch, beta):
    first, second = batch
    once = [looped_reconstruction(*pair, beta) for pair in ((first, second), (second, first))]
    twice = [looped_reconstruction(*pair, beta) for pair in (once, once[::-1])]
    expected = sum(
        float((x - y) @ (x - y))
        for modality, rebuilt in zip(batch, twice, strict=True)
        for x, y in zip(modality, rebuilt, strict=True)
    )
    assert two_stream_cycle_loss(first, second, beta).item() == pytest.approx(expected)


def test_weights_of_a_reconstruction_sum_to_one(batch):
    queries, keys = batch
    constant = torch.cat([keys, torch.ones(6, 1)], dim=1)
    found = reconstruct(torch.cat([queries, torch.zeros(6, 1)], dim=1), constant, 7.0)
    torch.testing.assert_close(found[:, -1], torch.ones(6, dtype=torch.float64))


def test_order_of_rows_modalities_and_axes_does_not_matter(batch):
    first, second = batch
    expected = two_stream_cycle_loss(first, second, 5.0)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    rotation, _ = torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64))
    pairs = first[order], second[order]
    for others in (pairs, (first[order], second), (second, first), batch @ rotation):
        torch.testing.assert_close(two_stream_cycle_loss(*others, 5.0), expected)


def test_gradients_are_those_of_finite_differences(batch):
    first, second = (rows.clone().requires_grad_() for rows in batch)
    assert torch.autograd.gradcheck(lambda a, b: two_stream_cycle_loss(a, b, 4.0), (first, second))
