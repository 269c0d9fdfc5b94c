import math
import random
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save, save_file
from torch import nn
from torch.nn.functional import normalize

from crossmodal.errors import DivergenceError
from crossmodal.io import snapshots
from crossmodal.learning.method import Run
from crossmodal.nn.losses import ranking_loss
from crossmodal.training import gradient
from crossmodal.training.gradient import GradientMethod, shuffled_batches
from crossmodal.training.schedule import Phase, Schedule
from tests.test_fuzz import mutate

EPOCHS, BATCH = 5, 8


def adam(parameters):
    return torch.optim.Adam(parameters, fused=True)


def nesterov(parameters):
    return torch.optim.SGD(parameters, momentum=0.9, nesterov=True)


class Tiny(GradientMethod):
    """Two small networks with everything a snapshot must hold: dropout, buffers, momentum."""

    task = "instance"

    def __init__(self, make_optimizer=adam, stop_at=None, phases=1, continues=True):
        self.make_optimizer, self.stop_at = make_optimizer, stop_at
        self.phases, self.continues = phases, continues
        self.asked = []

    def build(self, views):
        return nn.ModuleDict(
            {
                m: nn.Sequential(
                    nn.Linear(v.features.shape[1], 6), nn.BatchNorm1d(6), nn.Dropout(0.3)
                )
                for m, v in views.items()
            }
        )

    def optimizer(self):
        return self.make_optimizer(self.network.parameters())

    @property
    def schedule(self):
        return Schedule((Phase(EPOCHS, 0.01),) * self.phases, continues=self.continues)

    def learning_rate_at(self, epoch, step):
        self.asked.append((epoch, step))
        return 0.01 / (1 + step)

    def place(self, train):
        self.train = train

    def batches(self, epoch, rng):
        if self.stop_at in (epoch, (self.phase, epoch)):
            raise KeyboardInterrupt
        return shuffled_batches(len(self.train.items), BATCH, rng, drop_last=False)

    def loss(self, batch):
        first, second = (
            normalize(self.network[m](torch.from_numpy(v.features[batch])))
            for m, v in self.train.views.items()
        )
        return ranking_loss(first @ second.T, 0.2)

    def encode(self, modality, view):
        for rows in np.array_split(view.features, 3):
            yield normalize(self.network[modality](torch.from_numpy(rows)))


@pytest.fixture
def splits(make_split, rng):
    def make(count):
        rows = rng.standard_normal((count, 7)).astype(np.float32)
        return make_split({"image": rows[:, :4], "text": rows[:, 2:]})

    return make(24), make(12)


@pytest.fixture
def snapshot_every_epoch(monkeypatch):
    monkeypatch.setattr(snapshots, "SHARE", math.inf)


def score_epochs(monkeypatch, scores):
    """Replace the validation scores; returns the weights as they were when they were asked for."""
    seen = []

    def score(method, validation):
        epoch = method.asked[-1][0]
        seen.append({name: value.copy() for name, value in method.state().items()})
        return scores[epoch]

    monkeypatch.setattr(gradient, "selection_score", score)
    return seen


def assert_same(state, expected):
    assert state.keys() == expected.keys()
    for name, value in state.items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


def other_shapes(content):
    """A snapshot of other arrays."""
    return save({"network.image.0.weight": np.zeros((2, 2))}, {"facts": "{}"})


def cut(eighths, content):
    """The beginning of a snapshot."""
    return content[: eighths * len(content) // 8]


def mutated(case, content):
    """A snapshot with random changes."""
    return mutate(content, random.Random(case))


DAMAGE = [other_shapes, *(partial(cut, n) for n in range(8))]
DAMAGE += [partial(mutated, case) for case in range(20)]


@pytest.mark.usefixtures("snapshot_every_epoch")
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_snapshot_is_named_and_the_fit_begins_anew(splits, tmp_path, capsys, damage):
    whole = Tiny()
    whole.fit(*splits, Run(3))
    with pytest.raises(KeyboardInterrupt):
        Tiny(stop_at=3).fit(*splits, Run(3, tmp_path))
    path = tmp_path / "snapshot.safetensors"
    before = path.read_bytes()
    path.write_bytes(damage(before))
    damaged = path.read_bytes() != before
    again = Tiny()
    again.fit(*splits, Run(3, tmp_path))
    assert_same(again.state(), whole.state())
    assert (f"{path}: damaged, and set aside" in capsys.readouterr().err) == damaged
    assert (again.asked[0] == (0, 0)) == damaged


@pytest.mark.usefixtures("snapshot_every_epoch")
@pytest.mark.parametrize("stop_at", [1, 4])
@pytest.mark.parametrize("optimizer", [adam, nesterov, torch.optim.Adam, torch.optim.SGD])
def test_a_stopped_run_resumes_to_the_same_result(splits, tmp_path, optimizer, stop_at):
    whole, curve = Tiny(optimizer), []
    whole.fit(*splits, Run(3, curve=curve))
    with pytest.raises(KeyboardInterrupt):
        Tiny(optimizer, stop_at).fit(*splits, Run(3, tmp_path))
    resumed, run = Tiny(optimizer), Run(3, tmp_path)
    resumed.fit(*splits, run)
    assert run.curve == curve
    assert_same(resumed.state(), whole.state())
    assert resumed.asked == [asked for asked in whole.asked if asked[0] >= stop_at]


@pytest.mark.usefixtures("snapshot_every_epoch")
def test_a_stopped_run_remembers_its_best_epoch(splits, tmp_path, monkeypatch):
    scores = [1.0, 9.0, 3.0, 4.0, 5.0]
    seen = score_epochs(monkeypatch, scores)
    with pytest.raises(KeyboardInterrupt):
        Tiny(stop_at=3).fit(*splits, Run(0, tmp_path))
    method, run = Tiny(), Run(0, tmp_path)
    method.fit(*splits, run)
    assert [row["validation"] for row in run.curve] == scores
    assert_same(method.state(), seen[1])


def test_parameter_group_learns_at_a_multiple_of_the_rate(splits):
    made = []

    def optimizer(parameters):
        first, *others = parameters
        made.append(torch.optim.SGD([{"params": [first], "factor": 10}, {"params": others}]))
        return made[0]

    method = Tiny(optimizer)
    method.fit(*splits, Run(0))
    _, step = method.asked[-1]
    rates = [group["lr"] for group in made[0].param_groups]
    assert rates == pytest.approx([0.1 / (1 + step), 0.01 / (1 + step)])


@pytest.mark.usefixtures("snapshot_every_epoch")
def test_a_finished_run_is_not_trained_again(splits, tmp_path):
    whole, again = Tiny(), Tiny()
    whole.fit(*splits, Run(0, tmp_path))
    again.fit(*splits, Run(0, tmp_path))
    assert again.asked == []
    assert_same(again.state(), whole.state())


def test_snapshots_after_the_first_wait_until_they_are_cheap(splits, tmp_path, monkeypatch):
    monkeypatch.setattr(snapshots, "SHARE", 1e-9)
    with pytest.raises(KeyboardInterrupt):
        Tiny(stop_at=4).fit(*splits, Run(0, tmp_path))
    resumed = Tiny()
    resumed.fit(*splits, Run(0, tmp_path))
    assert resumed.asked[0] == (1, 3)


def test_the_earliest_of_the_best_epochs_is_kept(splits, monkeypatch):
    seen = score_epochs(monkeypatch, [1.0, 3.0, 3.0, 2.0, 3.0])
    method = Tiny()
    method.fit(*splits, Run(0))
    assert_same(method.state(), seen[1])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_loss_that_is_no_number_stops_the_run(splits, value):
    method = Tiny()
    loss = method.loss
    method.loss = lambda batch: loss(batch) * (value if method.asked[-1][0] == 2 else 1)
    with pytest.raises(DivergenceError, match=r"mine: epoch 2 ends with loss .* learning_rate"):
        method.fit(*splits, Run(0, label="mine"))


def test_divergence_in_the_last_step_detected(splits):
    method = Tiny()
    rate = method.learning_rate_at
    method.learning_rate_at = lambda epoch, step: np.inf if epoch == 1 else rate(epoch, step)
    method.batches = lambda epoch, rng: list(Tiny.batches(method, epoch, rng))[:1]
    with pytest.raises(
        DivergenceError, match=r"epoch 1 .* and with weights that are NaN or infinite"
    ):
        method.fit(*splits, Run(0))


def test_an_epoch_without_batches_stops_the_run(splits):
    method = Tiny()
    method.batches = lambda epoch, rng: []
    with pytest.raises(DivergenceError, match="after 0 batches"):
        method.fit(*splits, Run(0))


def test_learning_rate_of_each_epoch_and_step(splits):
    used = []

    class Recording(torch.optim.SGD):
        def step(self):
            used.append(self.param_groups[0]["lr"])

    method = Tiny(Recording)
    method.fit(*splits, Run(0))
    steps = range(EPOCHS * 3)  # 24 items make 3 batches
    assert method.asked == [(step // 3, step) for step in steps]
    assert used == [0.01 / (1 + step) for step in steps]


def test_gradients_are_clipped_before_the_step(splits):
    method = Tiny(torch.optim.SGD)
    method.clip = lambda: [p.grad.zero_() for p in method.network.parameters()]
    method.fit(*splits, Run(0))
    torch.manual_seed(0)
    for name, value in method.build(splits[0].views).named_parameters():
        assert torch.equal(value, method.network.state_dict()[name])


def test_validation_split_chooses_but_does_not_teach(splits):
    train, validation = splits
    losses = []
    for other in (validation, train):
        run = Run(0)
        Tiny().fit(train, other, run)
        losses.append([row["loss"] for row in run.curve])
    assert losses[0] == losses[1]


def test_seeds_differ_and_repeat(splits):
    curves = []
    for seed in (0, 0, 1):
        run = Run(seed)
        Tiny().fit(*splits, run)
        curves.append(run.curve)
    assert curves[0] == curves[1]
    assert curves[0] != curves[2]


def test_a_stored_state_embeds_alike(splits, tmp_path):
    train, validation = splits
    trained, restored = Tiny(), Tiny()
    trained.fit(train, validation, Run(0))
    save_file(trained.state(), tmp_path / "model.safetensors")
    restored.restore(load_file(tmp_path / "model.safetensors"), validation.views)
    for modality, view in validation.views.items():
        embeddings = trained.embed(modality, view)
        np.testing.assert_array_equal(restored.embed(modality, view), embeddings)
        np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1, rtol=1e-6)


def phased(monkeypatch, scores):
    """Replace the validation scores, by phase and epoch; the weights by phase and epoch."""
    seen = {}

    def score(method, validation):
        when = method.phase, method.asked[-1][0]
        seen[when] = {name: value.copy() for name, value in method.state().items()}
        return scores[when[0]][when[1]]

    monkeypatch.setattr(gradient, "selection_score", score)
    return seen


FIRST = [1.0, 6.0, 3.0, 6.0, 5.0]


@pytest.mark.parametrize(
    ("second", "best"), [([0, 0, 7, 9, 8], (1, 3)), ([0, 0, 2, 6.0, 1], (0, 1))]
)
def test_a_phase_inherits_the_best_score_and_the_count_of_epochs(splits, monkeypatch, second, best):
    seen = phased(monkeypatch, [FIRST, second])
    method, run = Tiny(phases=2), Run(0)
    method.fit(*splits, run)
    assert list(seen) == [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]
    assert [row["epoch"] for row in run.curve] == list(range(8))  # those of both phases
    assert [row["step"] for row in run.curve] == list(range(3, 25, 3))
    assert_same(method.state(), seen[best])


def test_phase_begins_with_best_weights_and_step_0(splits, monkeypatch):
    seen = phased(monkeypatch, [FIRST, FIRST])
    begun = []

    class Recording(Tiny):
        def optimizer(self):
            begun.append(self.phase)
            return super().optimizer()

        def batches(self, epoch, rng):
            if (self.phase, epoch) == (1, 2):
                assert_same(self.state(), seen[0, 1])
            return super().batches(epoch, rng)

    method = Recording(phases=2)
    method.fit(*splits, Run(0))
    assert (1, 2) in seen
    assert method.asked[15:] == [(2 + step // 3, step) for step in range(9)]
    assert begun == [0, 1]


def test_a_phase_after_a_best_last_epoch_is_empty(splits, monkeypatch):
    seen = phased(monkeypatch, [[1, 2, 3, 4, 5]])
    method = Tiny(phases=2)
    method.fit(*splits, Run(0))
    assert_same(method.state(), seen[0, 4])


@pytest.mark.usefixtures("snapshot_every_epoch")
@pytest.mark.parametrize("stop_at", [(0, 4), (1, 2), (1, 4)])
def test_a_run_stopped_in_any_phase_resumes_to_the_same_result(
    splits, tmp_path, monkeypatch, stop_at
):
    phased(monkeypatch, [FIRST, [0, 0, 2, 7, 1]])
    whole, curve = Tiny(phases=2), []
    whole.fit(*splits, Run(3, curve=curve))
    with pytest.raises(KeyboardInterrupt):
        Tiny(stop_at=stop_at, phases=2).fit(*splits, Run(3, tmp_path))
    resumed, run = Tiny(phases=2), Run(3, tmp_path)
    resumed.fit(*splits, run)
    assert run.curve == curve
    assert_same(resumed.state(), whole.state())
    assert len(resumed.asked) < len(whole.asked)
    assert resumed.asked == whole.asked[-len(resumed.asked) :]


def test_the_learning_curve_has_what_the_method_logs(splits):
    method, run = Tiny(), Run(0)
    method.log = lambda: {"asked": len(method.asked)}
    method.fit(*splits, run)
    assert [row["asked"] for row in run.curve] == [3, 6, 9, 12, 15]


@pytest.mark.parametrize(("drop_last", "sizes"), [(False, [4, 4, 2]), (True, [4, 4])])
def test_batches_are_a_permutation(rng, drop_last, sizes):
    batches = list(shuffled_batches(10, 4, rng, drop_last))
    assert [len(batch) for batch in batches] == sizes
    joined = np.concatenate(batches).tolist()
    assert len(set(joined)) == len(joined)
    assert joined != sorted(joined)
    assert set(joined) <= set(range(10))


def test_a_later_phase_may_count_its_epochs_anew(splits, monkeypatch):
    seen = phased(monkeypatch, [FIRST, [0, 0, 7, 9, 8]])
    method, run = Tiny(phases=2, continues=False), Run(0)
    method.fit(*splits, run)
    assert list(seen) == [(phase, epoch) for phase in (0, 1) for epoch in range(EPOCHS)]
    assert [row["epoch"] for row in run.curve] == list(range(2 * EPOCHS))
    assert_same(method.state(), seen[1, 3])


@pytest.mark.usefixtures("snapshot_every_epoch")
@pytest.mark.parametrize("stop_at", [(0, 3), (1, 1), (1, 4)])
def test_a_run_resumes_with_the_optimizer_of_its_phase(splits, tmp_path, monkeypatch, stop_at):
    """The first phase trains one network, the second both."""

    class Frozen(Tiny):
        def optimizer(self):
            self.network["text"].requires_grad_(self.phase == 1)
            return adam([p for p in self.network.parameters() if p.requires_grad])

    phased(monkeypatch, [FIRST, [0, 0, 7, 9, 8]])
    whole, curve = Frozen(phases=2, continues=False), []
    whole.fit(*splits, Run(3, curve=curve))
    with pytest.raises(KeyboardInterrupt):
        Frozen(stop_at=stop_at, phases=2, continues=False).fit(*splits, Run(3, tmp_path))
    resumed, run = Frozen(phases=2, continues=False), Run(3, tmp_path)
    resumed.fit(*splits, run)
    assert run.curve == curve
    assert_same(resumed.state(), whole.state())
