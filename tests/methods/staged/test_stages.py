import math

import numpy as np
import pytest
import torch
from torch.nn.functional import mse_loss

from crossmodal.errors import CrossmodalError
from crossmodal.io import snapshots
from crossmodal.learning.method import Run
from crossmodal.methods._staged.stages import Stage
from crossmodal.methods._staged.standardised import StandardisedMethod
from crossmodal.nn.mlp import linear
from crossmodal.training import gradient

pytestmark = pytest.mark.usefixtures("cpu")


class Halves(Stage):
    """Linear maps to two outputs that are to equal the labels."""

    def __init__(self, widths, scaling):
        super().__init__(widths, scaling)
        self.maps = torch.nn.ModuleDict({m: linear(w, 2) for m, w in widths.items()})
        self.seen = []

    def encode(self, modality, x):
        return self.maps[modality](x)

    def loss(self, x, labels):
        self.seen.append((self.progress, {m: rows.clone() for m, rows in x.items()}, labels))
        return sum(mse_loss(self.encode(m, rows), labels) for m, rows in x.items())


OPTIONS = {"batch": 8, "learning_rate": 0.01, "weight_decay": 0.1, "scaling": "raw", "steps": 4}


class Staged(StandardisedMethod):
    """Three stages of 2, 1 and 2 epochs, of two steps each."""

    supervised, code_width, stage_steps = True, 2, (4, 2, 3)

    def __init__(self, score_norm="none", stop_at=None):
        super().__init__(**OPTIONS, score_norm=score_norm)
        self.stop_at = stop_at

    def stages(self, widths):
        twos = dict.fromkeys(widths, 2)
        return [Halves(widths, "raw"), Halves(twos, "zscore"), Halves(twos, "zscore")]

    def batches(self, epoch, rng):
        if epoch == self.stop_at:
            raise KeyboardInterrupt
        return super().batches(epoch, rng)


@pytest.fixture
def splits(make_split, rng):
    """Twenty training and ten validation pairs of two classes."""

    def make(count):
        labels = np.eye(2)[np.arange(count) % 2]
        image = labels @ rng.standard_normal((2, 4)) + rng.standard_normal((count, 4))
        return make_split({"image": image, "text": rng.standard_normal((count, 3))}, labels)

    return make(20), make(10)


def fitted(method, splits, **run):
    method.fit(*splits, Run(0, **run))
    return method


def weights(method, stage):
    return {n: v.copy() for n, v in method.state().items() if n.startswith(f"stages.{stage}.maps")}


def test_each_stage_has_its_epochs_and_knows_how_far_it_is(splits):
    curve = []
    method = fitted(Staged(), splits, curve=curve)
    assert [row["stage"] for row in curve] == [0, 0, 1, 2, 2]
    for stage, expected in zip(method.network.stages, ([0, 0.5], [0], [0, 0.5]), strict=True):
        assert [progress for progress, *_ in stage.seen] == np.repeat(expected, 2).tolist()


def test_earlier_stages_are_frozen(splits, monkeypatch):
    snapshots = []

    def score(method, validation):
        snapshots.append([weights(method, stage) for stage in range(3)])
        return len(snapshots)  # the last epoch is the best

    monkeypatch.setattr(gradient, "selection_score", score)
    fitted(Staged(), splits)
    for stage, epochs in enumerate(([0, 1], [2], [3, 4])):
        for before, after in zip(range(4), range(1, 5), strict=True):
            first, second = snapshots[before][stage], snapshots[after][stage]
            same = all(np.array_equal(first[name], second[name]) for name in first)
            assert same == (after not in epochs)


def test_last_stage_alone_selects_the_epoch(splits, monkeypatch):
    scores, kept = iter([0.9, 0.8, 0.7, 0.1, 0.2]), []

    def score(method, validation):
        kept.append(weights(method, 2))
        return next(scores)

    monkeypatch.setattr(gradient, "selection_score", score)
    method = fitted(Staged(), splits)
    for name, values in weights(method, 2).items():
        np.testing.assert_array_equal(values, kept[4][name])
        assert not np.array_equal(values, kept[0][name])


def test_steps_become_whole_passes(splits):
    method = Staged()
    method.classes, method.network = 2, method.build(splits[0].views)
    method.place(splits[0])
    assert method.stage_epochs == (2, 1, 2)  # of 4, 2 and 3 steps, two a pass


@pytest.mark.usefixtures("keep_last")
def test_a_stage_reads_scaled_outputs_of_the_one_before(splits):
    method, (train, _) = fitted(Staged(), splits), splits
    first, second, _ = method.network.stages
    for modality, view in train.views.items():
        rows = torch.from_numpy(view.features).float()
        outputs = first(modality, rows)
        expected = (outputs - outputs.mean(0)) / outputs.std(0, correction=0)
        found = second.scalers[modality](outputs)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        seen = torch.cat([x[modality] for _, x, _ in second.seen])
        # 16 of 20 rows, the last and incomplete batch being dropped
        assert torch.cdist(seen, expected).amin(1).max() < 1e-3
        assert len(seen) == 16


@pytest.mark.parametrize("score_norm", ["none", "train_z"])
@pytest.mark.parametrize("stop_at", [1, 2, 3, 4])
def test_resumed_run_equals_an_uninterrupted_one(
    splits, tmp_path, monkeypatch, stop_at, score_norm
):
    monkeypatch.setattr(snapshots, "SHARE", math.inf)
    uninterrupted, curve = Staged(score_norm), []
    uninterrupted.fit(*splits, Run(0, curve=curve))
    with pytest.raises(KeyboardInterrupt):
        fitted(Staged(score_norm, stop_at), splits, checkpoints=tmp_path)
    run = Run(0, tmp_path)
    resumed = Staged(score_norm)
    resumed.fit(*splits, run)
    assert run.curve == curve
    for name, value in uninterrupted.state().items():
        np.testing.assert_array_equal(resumed.state()[name], value, err_msg=name)


def test_labels_share_unit_weight_and_unlabelled_are_left_out(splits):
    train, validation = splits
    train.labels[:4] = [[True, True], [False, False], [True, False], [False, True]]
    method = Staged()
    method.classes, method.network = 2, method.build(train.views)
    method.place(train)
    assert method.labels[:3].tolist() == [[0.5, 0.5], [1, 0], [0, 1]]
    assert {len(rows) for rows in method.inputs.values()} == {len(method.labels)} == {19}
    train.labels[:] = False
    with pytest.raises(CrossmodalError, match="label"):
        method.fit(train, validation, Run(0))


def test_a_method_without_labels_keeps_all_items(splits, make_split):
    train, _ = splits
    unlabelled = make_split({m: view.features for m, view in train.views.items()})
    method = Staged()
    method.supervised = False
    method.classes, method.network = 0, method.build(train.views)
    method.place(unlabelled)
    assert len(method.labels) == 20


def test_weights_decay_and_biases_do_not(splits):
    method = Staged()
    method.network = method.build(splits[0].views)
    weights, biases = method.parameter_groups()
    assert {p.ndim for p in weights["params"]} == {2}
    assert {p.ndim for p in biases["params"]} == {1}
    assert (weights["weight_decay"], biases.get("weight_decay", 0)) == (0.1, 0)


def test_codes_are_scaled_by_training_statistics(splits):
    train, validation = splits
    raw = fitted(Staged("none"), splits)
    method = Staged("train_z")
    method.classes, method.network = 2, method.build(train.views)
    method.network.load_state_dict(raw.network.state_dict(), strict=False)
    method.place(train)
    method.stage = 2
    method.inputs = {
        m: raw.network.stages[1](m, raw.network.stages[0](m, rows)).detach()
        for m, rows in method.inputs.items()
    }
    list(method.batches(4, np.random.default_rng(0)))  # the readout is fitted at the end
    for modality, view in validation.views.items():
        codes = raw.embed(modality, train.views[modality])
        expected = (raw.embed(modality, view) - codes.mean(axis=0)) / codes.std(axis=0)
        np.testing.assert_allclose(method.embed(modality, view), expected, atol=1e-4)


def test_three_views_are_refused(splits, make_split):
    train, _ = splits
    views = {m: view.features for m, view in train.views.items()}
    three = make_split(views | {"speech": views["text"]}, train.labels)
    with pytest.raises(CrossmodalError, match="two views"):
        Staged().fit(three, three, Run(0))
