import numpy as np
import pytest
import torch

from crossmodal.methods._staged.correspondence import CorrespondenceAutoencoder

WIDTHS = {"image": 4, "text": 3}
NO_LABELS = torch.zeros(6, 0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def make(weight, widths=WIDTHS):
    torch.manual_seed(0)
    return CorrespondenceAutoencoder(widths, 5, weight, "raw").double()


@pytest.fixture
def pairs():
    """Six pairs of widths 4 and 3."""
    torch.manual_seed(1)
    return {m: torch.randn(6, w, dtype=torch.float64) for m, w in WIDTHS.items()}


def test_loss_equals_the_formula_row_by_row(pairs):
    network, total = make(0.3), 0.0
    weights = {name: p.detach().numpy() for name, p in network.named_parameters()}
    for row in range(6):
        x = {m: values[row].numpy() for m, values in pairs.items()}
        h = {m: sigmoid(weights[f"encoders.{m}.weight"] @ x[m]) for m in x}
        total += 0.3 * ((h["image"] - h["text"]) ** 2).sum()
        for m in x:
            decoded = weights[f"decoders.{m}.{m}.weight"] @ h[m]
            total += 0.7 * ((decoded - x[m]) ** 2).sum()
    assert network.loss(pairs, NO_LABELS).item() == pytest.approx(total / 6)


def test_loss_of_two_pairs_by_hand():
    network = make(0.0, {"image": 2, "text": 2})
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.fill_(0.0 if "encoders" in name else 1.0)
    x = {"image": torch.tensor([[1.0, 2], [3, 4]]), "text": torch.tensor([[0.0, 1], [3.5, 2]])}
    # codes are 0.5, so everything is reconstructed as 5 * 0.5 + 1 = 3.5
    image, text = (6.25 + 2.25 + 0.25 + 0.25) / 2, (12.25 + 6.25 + 0 + 2.25) / 2
    pairs = {m: rows.double() for m, rows in x.items()}
    assert network.loss(pairs, NO_LABELS).item() == pytest.approx(image + text)


def test_gradients_are_those_of_finite_differences(pairs):
    network = make(0.3)
    parameters = list(network.parameters())
    names = [name for name, _ in network.named_parameters()]

    def loss(*values):
        found = dict(zip(names, values, strict=True))
        return torch.func.functional_call(network, found, (pairs,))

    network.forward = lambda x: network.loss(x, NO_LABELS)
    assert torch.autograd.gradcheck(loss, parameters)


def test_without_correlation_the_autoencoders_are_independent(pairs):
    network = make(0.0)
    changed = pairs | {"text": pairs["text"] + 1}
    gradients = []
    for x in (pairs, changed):
        network.zero_grad()
        network.loss(x, NO_LABELS).backward()
        gradients.append([p.grad.clone() for p in network.encoders["image"].parameters()])
    for first, second in zip(*gradients, strict=True):
        torch.testing.assert_close(first, second)


def test_equal_modalities_with_equal_weights_stay_equal(pairs):
    network = make(0.5, {"image": 4, "text": 4})
    first, second = network.encoders.values()
    second.load_state_dict(first.state_dict())
    network.decoders["text"]["text"].load_state_dict(
        network.decoders["image"]["image"].state_dict()
    )
    optimizer = torch.optim.SGD(network.parameters(), 0.05)
    x = {"image": pairs["image"], "text": pairs["image"].clone()}
    for _ in range(5):
        codes = [network.encode(m, rows) for m, rows in x.items()]
        torch.testing.assert_close(*codes)
        optimizer.zero_grad()
        network.loss(x, NO_LABELS).backward()
        optimizer.step()


def test_the_distance_of_the_codes_alone_collapses_them(pairs):
    network = make(1.0)
    optimizer = torch.optim.Adam(network.encoders.parameters(), 0.05, weight_decay=1e-2)
    for _ in range(500):
        optimizer.zero_grad()
        loss = network.loss(pairs, NO_LABELS)
        loss.backward()
        optimizer.step()
    code = network.encode("image", pairs["image"])
    assert loss.item() < 1e-6
    assert (code - code.mean(0)).abs().max() < 1e-3  # the code says nothing of the item
