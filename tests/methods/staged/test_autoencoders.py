import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from crossmodal.methods._staged.autoencoders import Autoencoder, BimodalAutoencoder, DenoisingStack
from crossmodal.nn.losses import squared_error

NO_LABELS = torch.zeros(6, 0)


@pytest.fixture
def pairs():
    """Six pairs of widths 4 and 3."""
    torch.manual_seed(0)
    return {"image": torch.randn(6, 4), "text": torch.randn(6, 3)}


def test_the_best_linear_reconstruction_is_that_of_pca(rng):
    x = rng.standard_normal((60, 6)) * [4, 3, 2, 1, 0.7, 0.5]
    x -= x.mean(axis=0)
    residual = (np.linalg.svd(x, compute_uv=False)[2:] ** 2).sum() / len(x)
    torch.manual_seed(0)
    network, rows = Autoencoder(6, 2, nn.Identity).double(), torch.from_numpy(x)
    optimizer = torch.optim.LBFGS(network.parameters(), max_iter=200, line_search_fn="strong_wolfe")

    def step():
        optimizer.zero_grad()
        loss = network.loss(rows, noise=0.0)
        loss.backward()
        return loss

    optimizer.step(step)
    assert network.loss(rows, noise=0.0).item() == pytest.approx(residual, rel=1e-4)


def test_noise_corrupts_the_input_and_not_the_target():
    network, x = Autoencoder(50, 4, nn.Identity), torch.ones(200, 50)
    with torch.no_grad():
        network.encode[0].weight.zero_()  # whatever is read, nothing is reconstructed
    assert network.loss(x, noise=0.5).item() == pytest.approx(50)


def test_layers_of_a_stack_learn_from_their_own_error_alone():
    torch.manual_seed(0)
    stack, x = DenoisingStack([5, 4, 3], noise=0.0), torch.randn(8, 5)
    first, second = stack.layers
    total, code = stack.loss(x)
    total.backward()
    found = [p.grad.clone() for p in stack.parameters()]
    stack.zero_grad()
    first.loss(x, 0.0).backward()
    second.loss(first.encode(x).detach(), 0.0).backward()
    for gradient, parameter in zip(found, stack.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad)
    torch.testing.assert_close(code, stack(x))
    assert not code.requires_grad


def test_bimodal_code_of_one_modality_ignores_the_other(pairs):
    network = BimodalAutoencoder({"image": 4, "text": 3}, 5, classes=0)
    before = network.code({"image": pairs["image"]})
    both = network.code(pairs)
    with torch.no_grad():
        network.encoders["text"].weight += 1
    assert torch.equal(network.code({"image": pairs["image"]}), before)
    assert not torch.equal(network.code(pairs), both)
    zeros = {"image": pairs["image"], "text": torch.zeros(6, 3)}
    torch.testing.assert_close(network.code(zeros), before)


def test_bimodal_loss_is_the_mean_over_three_kinds_of_rows(pairs):
    labels = torch.eye(2)[torch.tensor([0, 1, 1, 0, 1, 0])]
    network, total = BimodalAutoencoder({"image": 4, "text": 3}, 5, classes=2), 0.0
    for given in (["image"], ["text"], ["image", "text"]):
        rows = {m: x if m in given else torch.zeros_like(x) for m, x in pairs.items()}
        h = torch.sigmoid(sum(rows[m] @ network.encoders[m].weight.T for m in rows) + network.bias)
        for m, x in pairs.items():
            total += squared_error(network.decoders[m](h), x).item() / x.shape[1]
        total += cross_entropy(network.head(h), labels).item()
    assert network.loss(pairs, labels).item() == pytest.approx(total / 3, rel=1e-5)


def test_the_label_head_teaches_the_shared_code(pairs):
    labels = torch.eye(2)[torch.tensor([0, 1, 1, 0, 1, 0])]
    network = BimodalAutoencoder({"image": 4, "text": 3}, 5, classes=2)
    cross_entropy(network.head(network.code(pairs)), labels).backward()
    for encoder in network.encoders.values():
        assert encoder.weight.grad.abs().max() > 0


def test_without_classes_there_is_no_label_head(pairs):
    network = BimodalAutoencoder({"image": 4, "text": 3}, 5, classes=0)
    network.loss(pairs, NO_LABELS).backward()
    assert all(p.grad is not None for p in network.parameters())
