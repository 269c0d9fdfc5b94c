import numpy as np
import pytest
import torch

from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.methods.ccl import CCL, TwoTasks, contrastive_loss

pytestmark = pytest.mark.usefixtures("cpu")

OPTIONS = {"dims": 16, "pretrained": {"image": [16, 12], "text": [12]}, "noise": 0.2}
OPTIONS |= {"correspondence": 16, "correlation_weight": 0.7, "classifier": [16, 16]}
OPTIONS |= {"dropout": 0.0, "margin": 1.0, "contrastive_weight": 1.0}
OPTIONS |= {"scaling": "zscore", "score_norm": "none", "learning_rate": 0.01}
OPTIONS |= {"weight_decay": 0.0, "batch": 40, "pretraining_steps": 60}
OPTIONS |= {"correspondence_steps": 30, "classifier_steps": 45, "steps": 45}
LABELS = torch.eye(3)[[0, 1, 1, 2, 0, 2]]


@pytest.fixture
def codes():
    """Six codes of either modality, some far and some near."""
    torch.manual_seed(0)
    return [0.5 * torch.randn(6, 3, dtype=float) for _ in range(2)]


def looped(first, second, same, margin):
    total = 0.0
    for i in range(len(first)):
        for j in range(len(second)):
            distance = np.linalg.norm(first[i] - second[j])
            total += distance**2 if same[i, j] else max(0.0, margin - distance) ** 2
    return total / (2 * len(first))


def test_contrastive_loss_is_that_of_a_double_loop(codes):
    same = LABELS @ LABELS.T > 0
    expected = looped(*(c.numpy() for c in codes), same, 1.0)
    assert contrastive_loss(*codes, same, 1.0).item() == pytest.approx(expected)


def test_contrastive_gradients_match_finite_differences(codes):
    same = LABELS @ LABELS.T > 0
    for c in codes:
        c.requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: contrastive_loss(a, b, same, 1.0), codes)


@pytest.mark.parametrize("same", [True, False])
def test_equal_codes_have_a_finite_gradient(same):
    codes = torch.ones(4, 3, requires_grad=True)
    contrastive_loss(codes, codes, torch.full((4, 4), same), 1.0).backward()
    assert torch.isfinite(codes.grad).all()


def test_one_class_is_best_collapsed(codes):
    same = torch.ones(6, 6, dtype=torch.bool)
    first, second = codes
    expected = torch.cdist(first, second).square().sum().item() / 12
    assert contrastive_loss(first, second, same, 1.0).item() == pytest.approx(expected)
    assert contrastive_loss(first[:1].repeat(6, 1), first[:1].repeat(6, 1), same, 1.0) < 1e-6


def test_different_classes_beyond_the_margin_cost_nothing(codes):
    first, second = codes[0].requires_grad_(), codes[1] + 20
    loss = contrastive_loss(first, second, torch.zeros(6, 6, dtype=torch.bool), 1.0)
    loss.backward()
    assert loss.item() == 0
    assert (first.grad == 0).all()


def tasks(contrastive_weight):
    torch.manual_seed(0)
    return TwoTasks({"image": 4, "text": 5}, 6, 3, 1.0, contrastive_weight)


@pytest.fixture
def pairs():
    torch.manual_seed(1)
    return {"image": torch.randn(6, 4), "text": torch.randn(6, 5)}


def test_the_shared_layer_gets_the_gradients_of_both_heads(pairs):
    found = []
    for network in (tasks(0.0), tasks(1.0)):
        network.loss(pairs, LABELS).backward()
        found.append(network.layers["image"][2].weight.grad)
    network = tasks(1.0)
    codes = (network.encode(m, x) for m, x in pairs.items())
    contrastive_loss(*codes, LABELS @ LABELS.T > 0, 1.0).backward()
    inter = network.layers["image"][2].weight.grad
    assert inter.abs().max() > 0
    torch.testing.assert_close(found[1], found[0] + inter)


def test_without_contrastive_loss_the_modalities_are_independent(pairs):
    found = []
    for text in (pairs["text"], pairs["text"] + 1):
        network = tasks(0.0)
        network.loss(pairs | {"text": text}, LABELS).backward()
        found.append(network.layers["image"][0].weight.grad)
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("score_norm", ["none", "train_z"])
def test_unseen_items_are_found(assert_learns, score_norm):
    assert_learns(lambda: CCL(**OPTIONS | {"score_norm": score_norm}), 0.5)  # chance is 0.25


def test_a_view_without_layers_is_named(classes):
    method = CCL(**OPTIONS | {"pretrained": {"image": [4]}})
    with pytest.raises(CrossmodalError, match="'text' are not given, only those of image"):
        method.fit(classes(0), classes(1), Run(0))
