"""What holds for both kinds of models."""

import numpy as np
import pytest

from crossmodal.errors import DivergenceError
from crossmodal.methods._online import learner as module
from crossmodal.methods._online.full_rank import FullRank
from crossmodal.methods._online.hinge import Margin
from crossmodal.methods._online.loop import Batch, Hyperparameters
from crossmodal.methods._online.loreta import LowRank
from crossmodal.methods._online.triplets import make_sampler

HYPERPARAMETERS = Hyperparameters(0.05, 4, Margin(2.0, 0.5, 0.0))


def make(kind, hyperparameters=HYPERPARAMETERS, seed=0, width=5):
    rng = np.random.default_rng(seed)
    if kind == "low":
        return LowRank.start((width, width), 3, hyperparameters, rng)
    return FullRank(np.zeros((width, width)), hyperparameters, rng)


def make_batch(seed=0):
    """60 items of three separable classes, queries and documents of width 5."""
    rng, kinds = np.random.default_rng(seed), np.arange(60) % 3
    rows = (np.eye(5)[kinds] + rng.normal(0, 0.05, (60, 5)) for _ in range(2))
    labels = np.eye(3, dtype=bool)[kinds]
    return Batch(*rows, make_sampler(labels, labels))


@pytest.fixture(params=["low", "full"])
def kind(request):
    return request.param


def assert_equal(one, other):
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, other.arrays[name])


def test_learning_satisfies_margins_of_separable_classes(kind):
    model, batch = make(kind), make_batch()
    assert model.partial_fit(batch, 10)[1] > 0.3
    model.partial_fit(batch, 5000)
    assert model.partial_fit(batch, 500)[1] < 0.01


def test_learning_in_pieces_equals_learning_at_once(kind, monkeypatch):
    monkeypatch.setattr(module, "LISTS_PER_BLOCK", 64)
    whole, parts = make(kind), make(kind)
    whole.partial_fit(make_batch(), 300)
    for lists in (1, 99, 28, 172):
        parts.partial_fit(make_batch(), lists)
    assert whole.lists == parts.lists == 300
    assert_equal(whole, parts)


def test_a_stream_of_batches_is_learnt_without_keeping_them(kind):
    model = make(kind)
    for seed in range(40):
        model.partial_fit(make_batch(seed), 25)
    assert model.partial_fit(make_batch(99), 500)[1] < 0.1


def test_satisfied_triplets_change_nothing(kind):
    model, labels = make(kind, width=3), np.eye(3, dtype=bool)[np.arange(30) % 3]
    for array in model.arrays.values():
        array[:] = 5 * np.eye(3)  # every gap is at least 5
    rows = labels.astype(float)
    batch = Batch(rows, rows, make_sampler(labels, labels))
    before = {name: array.copy() for name, array in model.arrays.items()}
    assert model.learn(batch, (0, 100)) == (0, 0, 400)
    for name, array in model.arrays.items():
        np.testing.assert_array_equal(array, before[name])


def test_lists_of_one_triplet_are_single_triplets(kind):
    """The sum over one triplet is that triplet."""
    model = make(kind, HYPERPARAMETERS._replace(triplets_per_query=1))
    assert model.learn(make_batch(), (0, 50))[2] == 50


def test_divergence_names_the_option_to_lower(kind):
    model = make(kind, HYPERPARAMETERS._replace(step_size=1e308))
    with pytest.raises(DivergenceError, match=r"step_size 1e\+308: .* lower step_size"):
        model.partial_fit(make_batch(), 50)
