import numpy as np
import pytest
import torch

from crossmodal.nn import selective_lstm as module
from crossmodal.nn.selective_lstm import (
    Candidates,
    Parts,
    SelectiveLSTM,
    all_scores,
    scores_to_learn,
)

DIMS, STEPS, IMAGES = 4, 3, 3
COUNTS = (2, 6, 1, 4, 3)  # words of captions

pytestmark = pytest.mark.usefixtures("cpu")


@pytest.fixture
def network():
    torch.manual_seed(0)
    network = SelectiveLSTM(DIMS, STEPS).double()
    for parameter in network.parameters():  # large, so that each step tells pairs apart
        torch.nn.init.uniform_(parameter, -2, 2)
    return network


@pytest.fixture
def sides(rng):
    """Three images of five regions and five captions, NaN behind their last word."""
    regions, words = (
        torch.from_numpy(rng.standard_normal(shape) * 2)
        for shape in ((IMAGES, 5, 2 * DIMS), (len(COUNTS), 6, 2 * DIMS))
    )
    behind = torch.arange(6) >= torch.tensor(COUNTS)[:, None]
    return Parts.of(regions), Parts.of(words.masked_fill(behind[:, :, None], torch.nan))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def select(selection, keys, values, state):
    """What one side's attention makes of one pair, a part at a time."""
    moved = selection.of_state.weight.detach().numpy() @ state
    weigh = selection.weigh.weight.detach().numpy()[0]
    scores = np.exp([weigh @ sigmoid(key + moved) for key in keys])
    weights = scores / scores.sum()
    return sum(w * value for w, value in zip(weights, values, strict=True)), weights


def lstm(cell, x, h, c):
    """The step of an LSTM by its equations."""
    w, u, a, b = (parameter.detach().numpy() for parameter in cell.parameters())
    i, f, g, o = np.split(w @ x + a + u @ h + b, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def loop(network, image, words):
    """Score and sums of the weights of one pair; keys and values of either side."""
    h = c = np.zeros(DIMS)
    by_region, by_word = 0, 0
    for _ in range(STEPS):
        seen, p = select(network.regions, *image, h)
        read, q = select(network.words, *words, h)
        h, c = lstm(network.aggregate, sigmoid(seen + read), h, c)
        by_region, by_word = by_region + p, by_word + q
    hidden, bias = (parameter.detach().numpy() for parameter in network.hidden.parameters())
    score = network.judge.weight.detach().numpy()[0] @ sigmoid(hidden @ h + bias)
    return score, by_region, by_word


def test_scores_and_weights_equal_loops(network, sides):
    regions, words = sides
    scores, by_region, by_word = (x.detach().numpy() for x in network(regions, words))
    for i in range(IMAGES):
        for j, count in enumerate(COUNTS):
            image = regions.keys[i].numpy(), regions.values[i].numpy()
            caption = words.keys[j, :count].numpy(), words.values[j, :count].numpy()
            score, p, q = loop(network, image, caption)
            assert scores[i, j] == pytest.approx(score, rel=1e-10)
            np.testing.assert_allclose(by_region[i, j], p, rtol=1e-10)
            np.testing.assert_allclose(by_word[i, j, :count], q, rtol=1e-10)
            assert (by_word[i, j, count:] == 0).all()
    assert scores.std() > 0.01


@pytest.mark.parametrize("tile", [1, 200, 10**6])
@pytest.mark.parametrize("captions", [1, 2, 64])
def test_tiles_change_no_score(network, sides, monkeypatch, tile, captions):
    expected = network(*sides)[0].detach()
    monkeypatch.setitem(module.TILE, "cpu", tile)
    monkeypatch.setattr(module, "CAPTIONS", captions)
    torch.testing.assert_close(all_scores(network, *sides), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("tile", [1, 300])
def test_tiles_change_no_gradient(network, sides, monkeypatch, tile):
    found = []
    for size in (10**6, tile):
        monkeypatch.setitem(module.TILE, "cpu", size)
        outputs = scores_to_learn(network, *sides)
        loss = sum((x * torch.linspace(-1, 1, x.numel()).view(x.shape)).sum() for x in outputs)
        gradients = torch.autograd.grad(loss, [*network.parameters()])
        found.append([*outputs, *gradients])
    for whole, tiled in zip(*found, strict=True):
        torch.testing.assert_close(tiled, whole, rtol=1e-10, atol=1e-12)


def test_tiles_bound_the_memory(network, sides, monkeypatch):
    seen = []
    forward = module.Selection.forward

    def watched(self, parts, states):
        seen.append(len(parts.keys) * states.shape[1] * parts.keys[0].numel())
        return forward(self, parts, states)

    monkeypatch.setattr(module.Selection, "forward", watched)
    monkeypatch.setitem(module.TILE, "cpu", 150)
    monkeypatch.setattr(module, "CAPTIONS", 5)
    all_scores(network, *sides)
    assert max(seen) <= 150  # of one image and all captions: 120


def test_candidates_are_keys_with_context_and_values(rng):
    torch.manual_seed(0)
    candidates = Candidates(width=7, dims=DIMS).double()
    parts, context = (torch.from_numpy(rng.standard_normal(s)) for s in ((2, 3, 7), (2, 7)))
    found = candidates(parts, context)
    keys = candidates.keys(parts[1]) + candidates.context.weight @ context[1]
    torch.testing.assert_close(found[1, :, :DIMS], keys)
    torch.testing.assert_close(found[1, :, DIMS:], candidates.values(parts[1]))
