import numpy as np
import pytest
import torch
from torch.nn.functional import batch_norm, leaky_relu

from crossmodal.errors import CrossmodalError
from crossmodal.learning.method import Run
from crossmodal.learning.selection import selection_score
from crossmodal.methods.two_way_net import Channels, TwoWayNet, apart, correlation

pytestmark = pytest.mark.usefixtures("cpu")

OPTIONS = {
    "hidden": [16, 12, 16],
    "parts": 1,
    "dropout": 0.0,
    "middle_weight": 0.25,
    "decorrelation": 0.5,
    "variance": 0.05,
    "weight_decay": 0.05,
    "learning_rate": 0.001,
    "momentum": 0.9,
    "decay_every": 20,
    "batch": 20,
    "epochs": 2,
}


@pytest.fixture
def captioned(make_split, rng):
    """40 random images with three sentences each, which are noisy maps of them."""
    images = rng.standard_normal((40, 6)).astype(np.float32)
    texts = images.repeat(3, axis=0) @ rng.standard_normal((6, 10))
    texts += 0.3 * rng.standard_normal(texts.shape)
    return make_split({"image": images, "text": texts.astype(np.float32)})


@pytest.fixture
def channels():
    torch.manual_seed(0)
    return Channels([5, 4, 3, 6, 8], parts=2, dropout=0.5).double()


def test_the_last_layer_maps_parts_apart_both_ways(rng):
    weight = torch.from_numpy(rng.standard_normal((3, 4, 2)))  # parts, outputs, inputs of each
    whole = torch.block_diag(*weight)
    x, y = (torch.from_numpy(rng.standard_normal((7, width))) for width in (6, 12))
    torch.testing.assert_close(apart(x, weight), x @ whole.T)
    torch.testing.assert_close(apart(y, weight.mT), y @ whole)


def test_both_channels_have_the_same_weights_transposed(channels, rng):
    x, y = (torch.from_numpy(rng.standard_normal((9, width))) for width in (5, 8))
    whole = [torch.block_diag(*weight) for weight in channels.weights]
    ways = ((x, whole, range(3)), (y, [w.T for w in whole[::-1]], (2, 1, 0)))
    found = (channels.forwards(x), channels.backwards(y))
    for way, (rows, weights, order) in enumerate(ways):
        hidden = []
        for weight, k in zip(weights, order, strict=False):
            norm = channels.norms[way][k]
            rows = rows @ weight.T
            rows = batch_norm(rows, None, None, norm.weight, norm.bias, True, eps=1e-3)
            rows = leaky_relu(rows, 0.3)
            hidden.append(rows)
        torch.testing.assert_close(found[way][0], hidden[1])
        torch.testing.assert_close(found[way][1], rows @ weights[-1].T + channels.biases[way])


def test_both_channels_drop_the_same_units_and_keep_the_variance(channels, rng):
    x, y = (torch.from_numpy(rng.standard_normal((400, width))) for width in (5, 8))
    masks = channels.draw_masks(400)
    first, second = channels.forwards(x, masks)[0], channels.backwards(y, masks)[0]
    assert ((first == 0) == (second == 0)).all()
    assert (first == 0).double().mean() == pytest.approx(0.5, abs=0.05)
    for mask in masks:
        assert mask.square().mean() == pytest.approx(1, abs=0.1)


def test_uncorrelated_units_cost_nothing(rng):
    h = torch.from_numpy(np.linalg.qr(rng.standard_normal((20, 4)))[0]) * torch.arange(1, 5)
    assert correlation(h).item() == pytest.approx(0, abs=1e-12)
    moments = (h + 1).T @ (h + 1) / 20
    expected = np.linalg.norm(moments) - np.linalg.norm(np.diag(moments))
    assert correlation(h + 1).item() == pytest.approx(expected)


def test_inputs_keep_the_proportions_of_their_columns(captioned, placed):
    method, rows = placed(TwoWayNet(**OPTIONS), captioned), captioned.views["text"].features
    found = method._scaled("text", torch.from_numpy(rows)).numpy()
    np.testing.assert_allclose(found.mean(0), 0, atol=1e-5)
    assert found.var(0).mean() == pytest.approx(1, rel=1e-5)
    np.testing.assert_allclose(found.std(0) / found.std(0)[0], rows.std(0) / rows.std(0)[0], 1e-4)


def test_each_weight_scales_its_part_of_the_loss(captioned, placed, rng):
    weights = ("middle_weight", "decorrelation", "variance", "weight_decay")
    none = dict.fromkeys(weights, 0.0)
    batch = np.arange(20)

    def loss(**options):
        return placed(TwoWayNet(**OPTIONS | none | options), captioned).loss(batch).item()

    alone = loss()
    parts = [loss(**{name: OPTIONS[name]}) - alone for name in weights]
    assert min(parts) > 0
    assert loss(**{name: OPTIONS[name] for name in weights}) == pytest.approx(alone + sum(parts))


def test_noisy_maps_are_learnt_and_kept(captioned, placed, without_rows):
    options = OPTIONS | {"hidden": [32, 24, 32], "parts": 2, "epochs": 60}
    method = TwoWayNet(**options)
    method.fit(captioned, captioned, Run(seed=0))
    untrained = placed(TwoWayNet(**options), captioned)
    assert selection_score(method, captioned) > selection_score(untrained, captioned) + 200
    restored = TwoWayNet(**options)
    restored.restore(method.state(), without_rows(captioned.views))
    for modality, view in captioned.views.items():
        found = method.embed(modality, view)
        assert len(found) == len(view.items)
        np.testing.assert_array_equal(restored.embed(modality, view), found)
        np.testing.assert_allclose(found.mean(1), 0, atol=1e-6)


def test_the_learning_rate_halves():
    rates = [TwoWayNet(**OPTIONS).learning_rate_at(epoch, 0) for epoch in (0, 19, 20, 40)]
    assert rates == pytest.approx([0.001, 0.001, 0.0005, 0.00025])


def test_parts_must_divide_the_last_layer(captioned):
    with pytest.raises(CrossmodalError, match="parts: is 4, which does not divide 10"):
        TwoWayNet(**OPTIONS | {"parts": 4}).build(captioned.views)


def test_more_than_two_views_are_refused(make_split, rng):
    views = {name: rng.random((4, 3)) for name in ("image", "text", "speech")}
    with pytest.raises(CrossmodalError, match="needs two views"):
        TwoWayNet(**OPTIONS).build(make_split(views).views)
