import numpy as np
import pytest
import torch
from torch.nn.functional import mse_loss

from crossmodal import training
from crossmodal.encoders.mlp import linear
from crossmodal.errors import CrossmodalError
from crossmodal.methods.base import Run
from crossmodal.stages import Stage, StagedMethod

pytestmark = pytest.mark.usefixtures("cpu")


class Halves(Stage):
    """Linear maps to two outputs that are to equal the labels."""

    def __init__(self, widths, input_norm):
        super().__init__(widths, input_norm)
        self.maps = torch.nn.ModuleDict({m: linear(w, 2) for m, w in widths.items()})
        self.seen = []

    def encode(self, modality, x):
        return self.maps[modality](x)

    def loss(self, x, labels):
        self.seen.append((self.progress, {m: rows.clone() for m, rows in x.items()}, labels))
        return sum(mse_loss(self.encode(m, rows), labels) for m, rows in x.items())


class Staged(StagedMethod):
    """Three stages of 2, 1 and 2 epochs."""

    supervised, dims = True, 2
    batch, rate, weight_decay = 8, 0.01, 0.1

    def __init__(self, score_norm="none", stop_at=None):
        self.score_norm, self.stop_at, self.stage_epochs = score_norm, stop_at, (2, 1, 2)

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
    for stage, expected in zip(method.network["stages"], ([0, 0.5], [0], [0, 0.5]), strict=True):
        assert [progress for progress, *_ in stage.seen] == np.repeat(expected, 2).tolist()


def test_stages_that_are_done_no_longer_change(splits, monkeypatch):
    snapshots = []

    def score(method, validation):
        snapshots.append([weights(method, stage) for stage in range(3)])
        return len(snapshots)  # the last epoch is the best

    monkeypatch.setattr(training, "selection_score", score)
    fitted(Staged(), splits)
    for stage, epochs in enumerate(([0, 1], [2], [3, 4])):
        for before, after in zip(range(4), range(1, 5), strict=True):
            first, second = snapshots[before][stage], snapshots[after][stage]
            same = all(np.array_equal(first[name], second[name]) for name in first)
            assert same == (after not in epochs)


@pytest.mark.usefixtures("keep_last")
def test_a_stage_reads_scaled_outputs_of_the_one_before(splits):
    method, (train, _) = fitted(Staged(), splits), splits
    first, second, _ = method.network["stages"]
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
def test_a_stopped_run_goes_on_as_if_undisturbed(
    splits, tmp_path, monkeypatch, stop_at, score_norm
):
    monkeypatch.setattr(training, "CHECKPOINT_SHARE", 1e9)
    whole, curve = Staged(score_norm), []
    whole.fit(*splits, Run(0, curve=curve))
    with pytest.raises(KeyboardInterrupt):
        fitted(Staged(score_norm, stop_at), splits, checkpoints=tmp_path)
    run = Run(0, tmp_path)
    resumed = Staged(score_norm)
    resumed.fit(*splits, run)
    assert run.curve == curve
    for name, value in whole.state().items():
        np.testing.assert_array_equal(resumed.state()[name], value, err_msg=name)


def test_labels_share_a_weight_of_one_and_unlabelled_items_are_left_out(splits):
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


def test_codes_are_scaled_by_training_statistics_or_those_of_the_view(splits):
    train, validation = splits
    raw = fitted(Staged("none"), splits)
    for score_norm in ("train_z", "test_z"):
        method = Staged(score_norm)
        method.classes, method.network = 2, method.build(train.views)
        method.network.load_state_dict(raw.network.state_dict(), strict=False)
        method.place(train)
        method.stage = 2
        method.inputs = {
            m: raw.network["stages"][1](m, raw.network["stages"][0](m, rows)).detach()
            for m, rows in method.inputs.items()
        }
        list(method.batches(4, np.random.default_rng(0)))  # the readout is fitted at the end
        for modality, view in validation.views.items():
            codes = raw.embed(modality, view)
            reference = raw.embed(modality, train.views[modality])
            reference = codes if score_norm == "test_z" else reference
            expected = (codes - reference.mean(axis=0)) / reference.std(axis=0)
            np.testing.assert_allclose(method.embed(modality, view), expected, atol=1e-4)


def test_three_views_are_refused(splits, make_split):
    train, _ = splits
    views = {m: view.features for m, view in train.views.items()}
    three = make_split(views | {"speech": views["text"]}, train.labels)
    with pytest.raises(CrossmodalError, match="two views"):
        Staged().fit(three, three, Run(0))
