import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from crossmodal.data.feature_file import Ragged
from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods import lrbs
from crossmodal.methods.lrbs import LRBS, Descent, Relations

OPTIONS = {
    "penalty": 0.05,
    "tolerance": 1e-7,
    "scaling": "zscore-l2",
    "pca_energy": None,
}


@pytest.fixture(autouse=True)
def _on_cpu(cpu):
    pass


@pytest.fixture
def relations(labelled):
    views, labels = labelled
    for rows in views.values():
        rows -= rows.mean(axis=0)
    sides = [(torch.from_numpy(x), torch.from_numpy(labels).float()) for x in views.values()]
    return Relations(*sides)


def rank_of(fitted, labelled, penalty):
    method = fitted(LRBS(**OPTIONS | {"penalty": penalty}), *labelled)
    return method.arrays["image.factor"].shape[1]


def test_loss_and_gradient_are_those_of_the_formula(relations, labelled, rng):
    views, labels = labelled
    alike = labels @ labels.T
    weights = np.where(alike, 0.5 / alike.sum(), 0.5 / (~alike).sum())
    matrix = rng.standard_normal((6, 5))

    def loss(M):
        scores = views["image"] @ M @ views["text"].T
        return (weights * np.logaddexp(0, np.where(alike, -scores, scores))).sum()

    factors = torch.from_numpy(matrix), torch.eye(5).double()
    found, gradient = relations.gradient(factors)
    assert found == pytest.approx(loss(matrix))
    assert relations.loss(factors) == pytest.approx(loss(matrix))
    for place in ((0, 0), (3, 2), (5, 4)):
        step = np.zeros((6, 5))
        step[place] = 1e-5
        difference = (loss(matrix + step) - loss(matrix - step)) / 2e-5
        assert gradient[place] == pytest.approx(difference, rel=1e-5)


def test_the_size_of_blocks_changes_nothing(relations, labelled, monkeypatch, rng):
    factors = tuple(torch.from_numpy(rng.standard_normal((width, 3))) for width in (6, 5))
    whole = relations.gradient(factors)
    monkeypatch.setitem(lrbs.PAIRS_PER_BLOCK, "cpu", 1000)
    views, labels = labelled
    sides = [(torch.from_numpy(x), torch.from_numpy(labels).float()) for x in views.values()]
    blocks = Relations(*sides)
    assert blocks.size < 10
    assert blocks.gradient(factors)[0] == pytest.approx(whole[0])
    torch.testing.assert_close(blocks.gradient(factors)[1], whole[1])


@pytest.mark.parametrize(("penalty", "is_zero"), [(1.001, True), (0.98, False)])
def test_no_matrix_is_best_from_the_gradients_norm_on(fitted, labelled, penalty, is_zero):
    assert (rank_of(fitted, labelled, penalty) == 0) == is_zero


def test_the_rank_falls_with_the_penalty(fitted, labelled):
    ranks = [rank_of(fitted, labelled, penalty) for penalty in (0.001, 0.05, 0.2, 0.9, 2.0)]
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[0] > 1
    assert ranks[-1] == 0


def test_the_objective_falls_to_where_no_step_improves_it(relations):
    descent = Descent(relations, penalty=1e-3)
    objectives = [descent.step() for _ in range(300)]
    assert all(b <= a * (1 + 1e-9) for a, b in pairwise(objectives))
    # the gradient is a subgradient of the nuclear norm: lambda U V' in the span, less outside
    _, gradient = relations.gradient(descent.factors)
    left, values, right = torch.linalg.svd(descent.factors[0] @ descent.factors[1].T)
    rank = int((values > 1e-6).sum())
    inside = left[:, :rank].T @ gradient @ right[:rank].T
    torch.testing.assert_close(inside, -1e-3 * torch.eye(rank).double(), atol=1e-7, rtol=0)
    outside = left[:, rank:].T @ gradient @ right[rank:].T
    assert torch.linalg.matrix_norm(outside, 2) <= 1e-3 + 1e-6


def test_classes_that_can_be_told_apart_are(fitted, scores, make_split):
    labels = np.eye(4, dtype=bool)[np.arange(40) % 4]
    views = {"image": labels.astype(float), "text": labels.astype(float)}
    method = fitted(LRBS(**OPTIONS | {"scaling": "centre-l2"}), views, labels)
    assert selection_score(method, make_split(views, labels)) == 1
    found, alike = scores(method, views), labels @ labels.T
    assert found[alike].min() > 0 > found[~alike].max()


def test_items_without_a_label_are_in_no_pair(fitted, labelled, scores):
    views, labels = labelled
    method = fitted(LRBS(**OPTIONS | {"scaling": "centre-l2"}), views, labels)
    # two items that leave the mean where it is
    means = {m: x.mean(axis=0) for m, x in views.items()}
    more = {m: np.vstack([x, means[m] + 5, means[m] - 5]) for m, x in views.items()}
    unlabelled = np.vstack([labels, np.zeros((2, 4), bool)])
    other = fitted(LRBS(**OPTIONS | {"scaling": "centre-l2"}), more, unlabelled)
    np.testing.assert_allclose(scores(other, views), scores(method, views), atol=1e-4)


def test_a_sample_of_all_items_changes_nothing(fitted, labelled, scores):
    views, labels = labelled
    options = OPTIONS | {"tolerance": 0.0, "iterations": 20}
    whole = fitted(LRBS(**options), views, labels)
    drawn = fitted(LRBS(**options | {"sample": len(labels)}), views, labels)
    np.testing.assert_allclose(scores(drawn, views), scores(whole, views), rtol=1e-4, atol=1e-6)


def test_samples_of_the_items_come_close_to_the_best_objective(make_split, labelled):
    split, objectives = make_split(*labelled), {}
    for sample in (None, len(labelled[1]) // 2):
        method, run = LRBS(**OPTIONS | {"sample": sample}), Run(0)
        method.fit(split, split, run)
        views = [torch.from_numpy(method.embed(m, v)).double() for m, v in split.views.items()]
        labels = torch.from_numpy(split.labels).float()
        relations = Relations(*((x, labels) for x in views))
        one = torch.eye(views[0].shape[1]).double()
        objectives[sample] = relations.loss((one, one))
    best, sampled = objectives.values()
    assert sampled - best < 0.1 * (np.log(2) - best)  # log 2 is the loss of M = 0


def test_each_seed_draws_its_own_samples(make_split, labelled):
    split, curves = make_split(*labelled), []
    for seed in (0, 0, 1):
        run = Run(seed)
        LRBS(**OPTIONS | {"sample": 10, "iterations": 5}).fit(split, split, run)
        curves.append([row["loss"] for row in run.curve])
    assert curves[0] == curves[1] != curves[2]


@pytest.mark.parametrize("more", [{}, {"sample": 20, "iterations": 50}])
@pytest.mark.parametrize("stop", [1, 7])
def test_resumed_fit_equals_an_uninterrupted_one(
    make_split, labelled, tmp_path, monkeypatch, stop, more
):
    monkeypatch.setattr("crossmodal.io.snapshots.SHARE", math.inf)
    options = OPTIONS | more
    split, whole, expected = make_split(*labelled), LRBS(**options), Run(0)
    whole.fit(split, split, expected)
    step, steps = Descent.step, []

    def killed(self):
        if len(steps) == stop:
            raise KeyboardInterrupt
        steps.append(self)
        return step(self)

    with monkeypatch.context() as patch:
        patch.setattr(Descent, "step", killed)
        with pytest.raises(KeyboardInterrupt):
            LRBS(**options).fit(split, split, Run(0, tmp_path))
    steps.clear()
    monkeypatch.setattr(Descent, "step", lambda self: steps.append(self) or step(self))
    method, run = LRBS(**options), Run(0, tmp_path)
    method.fit(split, split, run)
    assert run.curve == expected.curve
    assert len(steps) == len(expected.curve) - stop
    for name, array in whole.state().items():
        np.testing.assert_array_equal(method.state()[name], array)


def test_labels_are_needed(fitted, labelled):
    views, labels = labelled
    with pytest.raises(CrossmodalError, match="no training item has one"):
        fitted(LRBS(**OPTIONS), views, np.zeros_like(labels))


def test_a_restored_method_scores_the_same(fitted, labelled, scores):
    views, labels = labelled
    method = fitted(LRBS(**OPTIONS | {"pca_energy": 0.9}), views, labels)
    again = LRBS(**OPTIONS)
    again.restore(method.state(), {})
    np.testing.assert_array_equal(scores(again, views), scores(method, views))


def test_sequences_are_an_error(fitted, labelled):
    views, labels = labelled
    views["text"] = Ragged.concatenate([row[:, None] for row in views["text"]])
    with pytest.raises(CrossmodalError, match="one vector per row"):
        fitted(LRBS(**OPTIONS), views, labels)
