import math

import pytest
import torch
from torch.nn.functional import normalize

from crossmodal.nn.cycle_loss import cycle_loss, reconstruct


@pytest.fixture
def batch():
    """Unit rows of two modalities, 6 pairs in 4 dimensions."""
    generator = torch.Generator().manual_seed(0)
    both = torch.randn(2, 6, 4, generator=generator, dtype=torch.float64)
    return normalize(both, dim=2)


@pytest.fixture
def three(batch):
    """The same with a third modality."""
    generator = torch.Generator().manual_seed(1)
    third = torch.randn(1, 6, 4, generator=generator, dtype=torch.float64)
    return torch.cat([batch, normalize(third, dim=2)])


def looped_reconstruction(queries, keys, values, beta):
    rows = []
    for query in queries:
        weights = [math.exp(beta * float(query @ key)) for key in keys]
        rows.append(sum(w / sum(weights) * v for w, v in zip(weights, values, strict=True)))
    return torch.stack(rows)


@pytest.mark.parametrize("beta", [0.0, 2.0, 12.0])
def test_one_pair_comes_back_to_itself_whatever_it_is(beta):
    first, second = torch.tensor([[0.6, 0.8]]), torch.tensor([[-1.0, 0.0]])
    assert cycle_loss([first, second], beta).item() == 0


@pytest.mark.parametrize(("n", "beta", "loss"), [(4, 2.0, 4.483969), (32, 4.0, 54.035046)])
def test_closed_form_of_matched_orthonormal_rows(n, beta, loss):
    rows = torch.eye(n, dtype=torch.float64)
    found = cycle_loss([rows, rows], beta).item()
    first = math.expm1(beta) / (math.exp(beta) + n - 1)
    second = math.expm1(beta * first**2) / (math.exp(beta * first**2) + n - 1)
    assert found == pytest.approx(2 * (n - 1) * (1 - first * second) ** 2)
    assert found == pytest.approx(loss, abs=5e-7)


@pytest.mark.parametrize("modalities", [2, 3])
def test_collapse_is_a_minimum(modalities):
    rows = normalize(torch.ones(5, 3, dtype=torch.float64)).requires_grad_()
    loss = cycle_loss([rows] * modalities, 4.0)
    loss.backward()
    assert loss.item() == pytest.approx(0)
    torch.testing.assert_close(rows.grad, torch.zeros_like(rows))


def test_reconstruction_without_temperature_is_the_mean(batch):
    first, second = batch
    torch.testing.assert_close(reconstruct(first, second, 0.0)[3], second.mean(0))
    # the second round exchanges the means again
    around = sum((rows - rows.mean(0)).square().sum() for rows in batch)
    torch.testing.assert_close(cycle_loss([first, second], 0.0), around)


@pytest.mark.parametrize("modalities", [2, 3])
def test_cold_softmax_of_matched_rows_closes_every_cycle(batch, modalities):
    assert cycle_loss([batch[0]] * modalities, 1e3).item() < 1e-6


@pytest.mark.parametrize("beta", [0.0, 2.0, 12.0])
def test_one_orthonormal_triple_loses_nine_eighths(beta):
    rows = torch.eye(3, dtype=torch.float64)[:, None]
    assert cycle_loss(list(rows), beta).item() == pytest.approx(9 / 8)


@pytest.mark.parametrize("beta", [2.0, 12.0])
@pytest.mark.parametrize("first_cosine", [False, True])
def test_equals_loops_over_rows(three, beta, first_cosine):
    three = three * torch.tensor([0.5, 1, 3])[:, None, None]
    for rows in (three[:2], three):
        found = list(rows)
        for cosine in (first_cosine, False):
            unit = [normalize(x) if cosine else x for x in found]
            found = [
                looped_reconstruction(
                    unit[i],
                    torch.cat([unit[j] for j in range(len(rows)) if j != i]),
                    torch.cat([found[j] for j in range(len(rows)) if j != i]),
                    beta,
                )
                for i in range(len(rows))
            ]
        expected = sum(float((x - y).square().sum()) for x, y in zip(found, rows, strict=True))
        assert cycle_loss(list(rows), beta, first_cosine).item() == pytest.approx(expected)


def test_weights_of_a_reconstruction_sum_to_one(batch):
    queries, keys = batch
    constant = torch.cat([keys, torch.ones(6, 1)], dim=1)
    found = reconstruct(torch.cat([queries, torch.zeros(6, 1)], dim=1), constant, 7.0)
    torch.testing.assert_close(found[:, -1], torch.ones(6, dtype=torch.float64))


@pytest.mark.parametrize("modalities", [2, 3])
def test_order_of_rows_modalities_and_axes_does_not_matter(three, modalities):
    rows = three[:modalities]
    expected = cycle_loss(list(rows), 5.0)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    rotation, _ = torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64))
    # not even the order of one modality alone: the loss does not know which rows are pairs
    alone = torch.stack([rows[0][order], *rows[1:]])
    for others in (rows[:, order], alone, rows.flip(0), rows @ rotation):
        torch.testing.assert_close(cycle_loss(list(others), 5.0), expected)


def test_gradients_equal_finite_differences(three):
    for rows in (three[:2], three):
        rows = [row.clone().requires_grad_() for row in rows]
        assert torch.autograd.gradcheck(lambda *r: cycle_loss(r, 4.0), rows)
