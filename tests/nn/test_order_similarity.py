import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from crossmodal.nn import order_similarity as module
from crossmodal.nn.order_similarity import order_similarity


@pytest.fixture
def rows():
    """Unit rows of 12 images and 20 captions, with signs."""
    generator = torch.Generator().manual_seed(0)
    return [
        normalize(torch.randn(count, 8, generator=generator, dtype=torch.float64))
        for count in (12, 20)
    ]


@pytest.mark.parametrize(("squared", "power"), [(True, 1), (False, 0.5)])
def test_equals_loops(rows, squared, power):
    images, captions = (x.numpy() for x in rows)
    expected = [
        [-(sum(max(0, y - x) ** 2 for x, y in zip(i, c, strict=True)) ** power) for c in captions]
        for i in images
    ]
    np.testing.assert_allclose(order_similarity(*rows, squared), expected, rtol=1e-12)


def test_both_orders_together_are_the_distance_of_unit_vectors(rows):
    images, captions = rows
    both = order_similarity(images, captions) + order_similarity(captions, images).T
    torch.testing.assert_close(-both, 2 - 2 * images @ captions.T)


def test_is_zero_exactly_if_the_caption_is_below_everywhere(rows):
    image, _ = rows
    below = image - torch.rand(image.shape, dtype=torch.float64)
    above = below.clone()
    above[:, 3] = image[:, 3] + 0.1
    assert (order_similarity(image, image).diagonal() == 0).all()
    assert (order_similarity(image, below).diagonal() == 0).all()
    torch.testing.assert_close(
        order_similarity(image, above).diagonal(), torch.full((12,), -0.01, dtype=torch.float64)
    )


def test_unit_vectors_at_most_four_apart_absolute_ones_one(rows):
    images, captions = (torch.cat([x, -x]) for x in rows)
    assert -4 <= order_similarity(images, -images).min() < -1
    found = order_similarity(images.abs(), captions.abs())
    assert -1 <= found.min() <= found.max() <= 0


@pytest.mark.parametrize(
    ("absolute", "mean", "spread"), [(True, 0.364, 0.015), (False, 1.005, 0.063)]
)
def test_random_directions_of_the_papers_width_have_known_values(absolute, mean, spread):
    generator = torch.Generator().manual_seed(0)
    x, y = (normalize(torch.randn(60, 1024, generator=generator)) for _ in range(2))
    found = -order_similarity(*((x.abs(), y.abs()) if absolute else (x, y)))
    assert found.mean().item() == pytest.approx(mean, abs=0.03)
    assert found.std().item() == pytest.approx(spread, rel=0.6)


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("size", [1, 8, 8 * 25, 10**6])
def test_tiles_change_nothing(rows, monkeypatch, size, squared):
    monkeypatch.setitem(module.TILE, "cpu", size)
    weights = torch.linspace(-1, 1, 12 * 20, dtype=torch.float64).reshape(12, 20)
    images, captions = (x.requires_grad_() for x in rows)
    whole = -(captions - images[:, None]).clamp(min=0).square().sum(2)
    whole = whole if squared else -(-whole).sqrt()
    tiled = order_similarity(images, captions, squared)
    torch.testing.assert_close(tiled, whole, rtol=0, atol=1e-15)
    found = [torch.autograd.grad((scores * weights).sum(), rows) for scores in (tiled, whole)]
    for ours, expected in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-14)


def test_tiles_bound_the_memory(rows, monkeypatch):
    seen, compute = [], module._beyond

    def record(images, captions):
        seen.append(images.numel() * len(captions))
        return compute(images, captions)

    monkeypatch.setattr(module, "_beyond", record)
    monkeypatch.setitem(module.TILE, "cpu", 100)
    images, captions = (x.requires_grad_() for x in rows)
    order_similarity(images, captions).sum().backward()
    assert len(seen) > 2
    assert max(seen) <= 100


@pytest.mark.parametrize("squared", [True, False])
def test_gradients_are_those_of_finite_differences(rows, squared):
    for x in rows:
        x.requires_grad_()
    assert torch.autograd.gradcheck(order_similarity, [*(x[:4] for x in rows), squared])


@pytest.mark.parametrize("squared", [True, False])
def test_no_violation_has_a_gradient_of_zero(rows, squared):
    image, captions = rows
    below = image - 0.1
    parts = [x.requires_grad_() for x in (image, torch.cat([below, captions]))]
    scores = order_similarity(*parts, squared)
    assert (scores[:, :12].diagonal() == 0).all()
    gradients = torch.autograd.grad(scores[:, :12].diagonal().sum(), parts, retain_graph=True)
    assert all((gradient == 0).all() for gradient in gradients)
    for gradient in torch.autograd.grad(scores.sum(), parts):
        assert gradient.isfinite().all()
        assert gradient.abs().max() > 0.1


def test_norm_has_unit_slope_whatever_its_size(rows):
    """As a distance has, and the square has not."""
    _, captions = rows
    captions.requires_grad_()
    for size in (1e-3, 1.0):
        images = captions.detach() - size * torch.eye(8, dtype=torch.float64)[0]
        scores = order_similarity(images, captions, squared=False).diagonal()
        torch.testing.assert_close(-scores.detach(), torch.full_like(scores, size))
        (gradient,) = torch.autograd.grad(scores.sum(), captions)
        torch.testing.assert_close(gradient.norm(dim=1), torch.ones_like(scores))
