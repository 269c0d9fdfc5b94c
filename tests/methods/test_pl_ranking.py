import numpy as np
import pytest
import torch

from crossmodal.config import plugins
from crossmodal.errors import CrossmodalError, DivergenceError
from crossmodal.learning.method import Run
from crossmodal.learning.selection import pools, selection_score
from crossmodal.methods.pl_ranking import STEPS_PER_THRESHOLD, NuclearSGD, PLRanking

OPTIONS = {
    "dims": 4,
    "tries": 20,
    "separation": 0.5,
    "penalty": 0.0001,
    "learning_rate": 0.1,
    "batch": 64,
    "epochs": 15,
    "scaling": "zscore-l2",
    "pca_energy": None,
}


@pytest.fixture(autouse=True)
def _on_cpu(cpu):
    pass


def make(**options):
    return PLRanking(**OPTIONS | options)


def placed(labelled, make_split, **options):
    """A method ready for batches of its training split."""
    method = make(epochs=1, **options)
    split = make_split(*labelled)
    method.fit(split, split, Run(0))
    return method


def test_items_of_one_class_are_brought_together(labelled, make_split, fitted):
    method, split = fitted(make(), *labelled), make_split(*labelled)
    untrained = fitted(make(epochs=1, learning_rate=1e-9), *labelled)
    assert selection_score(method, split) > selection_score(untrained, split) + 0.2


def test_pairwise_loss_weighs_by_estimated_rank(labelled, make_split):
    """With one try, N = 1: the rank is the number of strangers less one."""
    method = placed(labelled, make_split, tries=1)
    scores = torch.zeros(3, 3)
    other = ~torch.eye(3, dtype=bool)
    for strangers, weight in ((1, 0), (2, 1), (3, 1.5), (4, 11 / 6)):
        found = method.pairwise(scores, other, torch.full((3,), strangers))
        assert float(found) == pytest.approx(weight * 0.5)


def test_tries_have_the_expectation_without_replacement(labelled, make_split):
    """Of 9 strangers 2 violate: E[N] = 10 / 3; the weights of r = 8 // N are known."""
    method = placed(labelled, make_split, tries=9)
    scores = torch.full((10, 10), -5.0)
    for shift in range(3):  # the pair and two violating strangers
        scores[torch.arange(10), (torch.arange(10) + shift) % 10] = 0
    other, strangers = ~torch.eye(10, dtype=bool), torch.full((10,), 9)
    torch.manual_seed(0)
    found = np.mean([float(method.pairwise(scores, other, strangers)) for _ in range(500)])
    chances = [(9 - n) / 36 for n in range(1, 9)]  # of N = n
    weights = [sum(1 / t for t in range(1, 8 // n + 1)) for n in range(1, 9)]
    expected = 0.5 * sum(c * w for c, w in zip(chances, weights, strict=True))
    assert found == pytest.approx(expected, rel=0.03)


def test_only_violating_strangers_cost(labelled, make_split):
    method = placed(labelled, make_split)
    other = torch.tensor([[False, True], [True, False]])
    separated = torch.tensor([[1.0, 0.4], [0.4, 1.0]])
    assert float(method.pairwise(separated, other, torch.full((2,), 9))) == 0
    assert float(method.pairwise(torch.ones(2, 2), ~other, torch.full((2,), 9))) > 0
    assert float(method.pairwise(torch.ones(2, 2), other & False, torch.full((2,), 9))) == 0


def test_listwise_loss_agrees_with_loops(labelled, make_split, rng):
    method = placed(labelled, make_split, neighbours=3, strangers=2)
    distances, classes = rng.random((12, 12)) * 8, np.arange(12) % 3
    near, far = [], []
    for i in range(12):
        near += sorted(distances[i, classes == classes[i]])[:3]
        far += sorted(distances[i, classes != classes[i]])[:2]
    expected = np.mean(near) - 0.5 * np.minimum(far, 4.0).mean()
    other = torch.from_numpy(classes[:, None] != classes)
    found = method.listwise(torch.from_numpy(distances), other)
    assert float(found) == pytest.approx(expected)


def test_a_batch_of_one_class_has_no_strangers(labelled, make_split):
    method = placed(labelled, make_split)
    same = (method.targets == 0).nonzero().flatten()[:5]
    assert torch.isfinite(method.loss(same))


def test_the_gradient_is_that_of_the_loss(labelled, make_split):
    method = placed(labelled, make_split, tries=64)
    method.network.double()
    method.inputs = {m: x.double() for m, x in method.inputs.items()}
    batch, weights = torch.arange(20), method.network["image"].weight

    def loss():
        torch.manual_seed(3)
        return method.loss(batch)

    method.network.zero_grad()
    loss().backward()
    for place in ((0, 0), (3, 5)):
        values = []
        for step in (1e-6, -1e-6):
            with torch.no_grad():
                weights[place] += step
                values.append(float(loss()))
                weights[place] -= step
        difference = (values[0] - values[1]) / 2e-6
        assert float(weights.grad[place]) == pytest.approx(difference, rel=1e-4, abs=1e-8)


def test_step_without_list_and_norm_is_the_hinge_of_products(labelled, make_split):
    """W = U'V moves by U'(dV) + (dU)'V, with one weight for all triplets at one try."""
    method = placed(labelled, make_split, tries=1, list_weight=0.0, penalty=0.0)
    U, V = (method.network[m].weight.detach().double() for m in ("image", "text"))
    batch = torch.arange(30)
    torch.manual_seed(1)
    method.network.zero_grad()
    method.loss(batch).backward()
    product = (U.T @ V).requires_grad_()
    x, z = (method.inputs[m][batch].double() for m in ("image", "text"))
    other = method.targets[batch][:, None] != method.targets[batch]
    torch.manual_seed(1)
    scores = x @ product @ z.T
    strangers = method.strangers_of[batch]
    total = sum(method.pairwise(s.float(), other, strangers) for s in (scores, scores.T))
    total.backward()
    expected = {"image": V @ product.grad.T, "text": U @ product.grad}
    for modality, gradient in expected.items():
        found = method.network[modality].weight.grad.double()
        torch.testing.assert_close(found, gradient, atol=1e-5, rtol=1e-3)


def test_a_large_penalty_makes_all_scores_equal(labelled, make_split, fitted):
    method = fitted(make(penalty=1e6), *labelled)
    network = method.network
    optimiser = NuclearSGD(network.parameters(), 0.1, 1e6)
    for weight in network.parameters():
        weight.grad = torch.zeros_like(weight)
    for _ in range(STEPS_PER_THRESHOLD):
        optimiser.step()
    split = make_split(*labelled)
    assert not any(pool.embeddings.any() for pool in pools(method, split).values())
    random = (split.labels.sum(0) / len(split.items) * split.labels.mean(0)).sum()
    assert selection_score(method, split) == pytest.approx(random, abs=0.03)


def test_too_high_a_rate_is_told(labelled, make_split):
    split = make_split(*labelled)
    with pytest.raises(DivergenceError, match="lower learning_rate"):
        make(learning_rate=1e20, penalty=0.1).fit(split, split, Run(0))


def test_one_label_of_several_is_drawn_by_the_seed(labelled, make_split, fitted):
    views, labels = labelled
    both = labels | np.roll(labels, 1, axis=1)
    both[:7] = False
    drawn = []
    for seed in (0, 0, 1):
        method = make(epochs=1)
        split = make_split(views, both)
        method.fit(split, split, Run(seed))
        assert len(method.targets) == 143
        assert both[7:][np.arange(143), method.targets].all()
        drawn.append(method.targets.tolist())
    assert drawn[0] == drawn[1] != drawn[2]
    with pytest.raises(CrossmodalError, match="no training item has one"):
        fitted(make(), views, both & False)


@pytest.mark.parametrize("energy", [None, 0.9])
def test_a_restored_method_scores_the_same(
    labelled, make_split, fitted, scores, without_rows, energy
):
    views, labels = labelled
    method = fitted(make(pca_energy=energy, epochs=2), views, labels)
    again = make(pca_energy=energy)
    again.restore(method.state(), without_rows(make_split(views, labels).views))
    np.testing.assert_array_equal(scores(again, views), scores(method, views))


def test_a_wrong_option_is_named():
    with pytest.raises(CrossmodalError, match=r"pl_ranking\.tries: .*greater than 0"):
        plugins.make("methods", "pl_ranking", OPTIONS | {"tries": 0}, "methods.pl_ranking")
