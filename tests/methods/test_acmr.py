import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn

from crossmodal.learning.method import Run
from crossmodal.methods.acmr import ACMR, ReverseGradient, nearest_negatives

pytestmark = pytest.mark.usefixtures("cpu")

OPTIONS = {"dims": 8, "hidden": {"image": [16], "text": [12]}, "invariance_weight": 0.5}
OPTIONS |= {"discrimination_weight": 1.0, "negative_weight": 1.0, "margin": 1.0, "reversal": 1.0}
OPTIONS |= {"adversary_rate": 10.0}
OPTIONS |= {"similarity": "cosine", "scaling": "zscore", "learning_rate": 0.005}
OPTIONS |= {"weight_decay": 0.0, "batch": 40, "epochs": 15}


def gradients(method, codes):
    """Of L_adv with regard to the codes."""
    codes = [c.clone().requires_grad_() for c in codes]
    stage = method.network.stages[0]
    return torch.autograd.grad(stage.adversary(*codes), codes)


def test_reversal_is_the_identity_with_a_negative_gradient():
    x = torch.randn(5, 3, requires_grad=True)
    y = ReverseGradient.apply(x, 0.3)
    assert torch.equal(x, y)
    upstream = torch.randn(5, 3)
    torch.testing.assert_close(*torch.autograd.grad(y, x, upstream), -0.3 * upstream)


@pytest.mark.parametrize("progress", [0.0, 0.1, 0.5, 0.9])
def test_adversary_gradient_is_reversed_and_weighted(classes, placed, progress):
    method = placed(ACMR(**OPTIONS), classes(0))
    stage, codes = method.network.stages[0], torch.randn(2, 10, 8)
    stage.progress = progress
    both = codes.reshape(20, 8).requires_grad_()
    truth = torch.tensor([0] * 10 + [1] * 10)
    plain = torch.autograd.grad(nn.functional.cross_entropy(stage.modalities(both), truth), both)
    weight = 2 / (1 + np.exp(-10 * progress)) - 1
    found = torch.cat(gradients(method, codes))
    torch.testing.assert_close(found, -weight * plain[0])


def test_adversary_without_reversal_teaches_nothing(classes, placed):
    method = placed(ACMR(**OPTIONS | {"reversal": 0.0}), classes(0))
    method.network.stages[0].progress = 0.5
    for gradient in gradients(method, torch.randn(2, 10, 8)):
        assert (gradient == 0).all()


def test_an_adversary_at_chance_teaches_nothing(classes, placed):
    method = placed(ACMR(**OPTIONS), classes(0))
    stage = method.network.stages[0]
    stage.progress = 0.5
    nn.init.zeros_(stage.modalities[-3].weight)
    codes = torch.randn(2, 10, 8)
    assert stage.adversary(*codes).item() == pytest.approx(np.log(2))
    for gradient in gradients(method, codes):
        assert (gradient == 0).all()


@pytest.mark.usefixtures("keep_last")
def test_only_the_adversary_hides_the_modality(make_split, rng):
    """To a fresh linear probe, of modalities that are shifted against each other."""
    shared = rng.standard_normal((400, 6))
    views = {m: shared + rng.standard_normal((400, 6)) + s for m, s in (("image", 1), ("text", -1))}
    split = make_split(views, np.eye(2)[(shared[:, 0] > 0).astype(int)])
    options = {"scaling": "raw", "invariance_weight": 0.0, "learning_rate": 0.001, "epochs": 60}
    options |= {"hidden": {"image": [16], "text": [16]}}
    truth, found = np.repeat([0, 1], 400), []
    for reversal in (0.3, 0.0):
        method = ACMR(**OPTIONS | options | {"reversal": reversal})
        method.fit(split, split, Run(0))
        codes = np.concatenate([method.embed(m, view) for m, view in split.views.items()])
        found.append(
            LogisticRegression().fit(codes[::2], truth[::2]).score(codes[1::2], truth[1::2])
        )
    assert found[0] < 0.7 < 0.75 < found[1]


def test_the_modality_classifier_alone_learns_faster(classes, placed):
    method = placed(ACMR(**OPTIONS), classes(0))
    slow, fast = [], []
    for group in method.optimizer().param_groups:
        (fast if group.get("factor") == 10 else slow).extend(group["params"])
    modalities = list(method.network.stages[0].modalities.parameters())
    assert [id(p) for p in fast] == [id(p) for p in modalities]
    everything = {id(p) for p in method.network.parameters()}
    assert {id(p) for p in slow} == everything - {id(p) for p in fast}


def test_the_label_classifier_learns(classes):
    method = ACMR(**OPTIONS | {"epochs": 2})
    torch.manual_seed(0)
    start = None
    place = method.place

    def remember(train):
        nonlocal start
        start = method.network.stages[0].labels.weight.detach().clone()
        place(train)

    method.place = remember
    method.fit(classes(0), classes(1), Run(0))
    assert not torch.equal(method.network.stages[0].labels.weight, start)


@pytest.mark.parametrize(("negative_weight", "margin"), [(1.0, 2.0), (0.5, 0.3), (0.0, 1.0)])
def test_invariance_is_that_of_loops_over_pairs(classes, placed, negative_weight, margin):
    options = OPTIONS | {"negative_weight": negative_weight, "margin": margin}
    method = placed(ACMR(**options), classes(0))
    stage, rows = method.network.stages[0], torch.arange(9)
    x = {m: stage.scalers[m](inputs[rows]) for m, inputs in method.inputs.items()}
    labels = method.labels[rows]
    codes = {m: stage.encode(m, values).detach() for m, values in x.items()}
    v, t = (c.numpy().astype(float) for c in codes.values())
    total = 0.0
    for i in range(9):
        total += 2 * np.linalg.norm(v[i] - t[i])
        for inputs, anchor, other in ((x["image"], v, t), (x["text"], t, v)):
            others = [k for k in range(9) if labels[k].argmax() != labels[i].argmax()]
            unit = inputs.numpy() / np.linalg.norm(inputs.numpy(), axis=1, keepdims=True)
            nearest = max(others, key=lambda k, unit=unit, i=i: unit[i] @ unit[k])
            distance = np.linalg.norm(anchor[i] - other[nearest])
            total += negative_weight * max(0, margin - distance)
    assert stage.invariance(codes, x, labels).item() == pytest.approx(total / 9, rel=1e-5)


def test_invariance_gradients_match_finite_differences(classes, placed):
    method = placed(ACMR(**OPTIONS | {"margin": 3.0}), classes(0, 8))
    stage = method.network.stages[0]
    torch.manual_seed(0)
    codes = [torch.randn(8, 3, dtype=float, requires_grad=True) for _ in range(2)]
    assert torch.autograd.gradcheck(
        lambda v, t: stage.invariance({"image": v, "text": t}, method.inputs, method.labels), codes
    )


def test_a_batch_of_one_class_has_no_negatives():
    rows, exist = nearest_negatives(torch.randn(4, 3), torch.eye(2)[[0, 0, 0, 0]])
    assert not exist.any()
    rows, exist = nearest_negatives(torch.randn(3, 3), torch.tensor([[1.0, 0], [0.5, 0.5], [0, 1]]))
    assert exist.tolist() == [True, False, True]  # an item that shares a label is no negative
    assert rows[[0, 2]].tolist() == [2, 0]


def test_euclidean_similarity_is_the_negative_squared_distance(rng):
    queries, gallery = rng.standard_normal((3, 5)), rng.standard_normal((4, 5))
    method = ACMR(**OPTIONS | {"similarity": "euclidean"})
    expected = -np.square(queries[:, None] - gallery).sum(axis=2)
    np.testing.assert_allclose(method.score(queries, gallery, ("image", "text")), expected)


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_unseen_items_are_found(assert_learns, similarity):
    assert_learns(lambda: ACMR(**OPTIONS | {"similarity": similarity}), 0.7)  # chance is 0.25
