"""The selective LSTM that scores a pair by parts of both sides (Huang et al. 2017).

In each of T steps it attends to regions a_i and words w_j, compares what it finds, and goes on:

    p_i = softmax_i(u sigmoid(K a_i + M m + S h))          q_j likewise of w_j, the context n and h
    h = LSTM(sigmoid(V sum_i p_i a_i + W sum_j q_j w_j + b), h)          h = 0 at first

The score is x sigmoid(X h + c) of the last state. `Candidates` computes what is of one side alone.
"""

from collections.abc import Iterator
from typing import NamedTuple, Self

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from crossmodal.device import device
from crossmodal.nn.losses import total
from crossmodal.nn.mlp import linear

# elements of the largest array of a tile: on a CPU it is several times faster if its cache holds it
TILE = {"cpu": 2**20, "cuda": 2**26}
CAPTIONS = 64  # of about the same length, scored at once


class Parts(NamedTuple):
    """Regions of images, or words of captions.

    Args:
        keys: K a_i + M m, (n, l, D).
        values: V a_i + b, (n, l, D).
        inside: Which are parts, (n, l) bool; each row has one or more.
    """

    keys: torch.Tensor
    values: torch.Tensor
    inside: torch.Tensor

    @classmethod
    def of(cls, embeddings: torch.Tensor) -> Self:
        """Take embeddings (n, l, 2 D) apart, of which those behind the last part are NaN."""
        inside = ~embeddings[:, :, 0].isnan()
        keys, values = embeddings.nan_to_num().chunk(2, 2)
        return cls(keys, values, inside)

    def rows(self, which: slice | torch.Tensor) -> "Parts":
        """Return some rows."""
        return Parts(*(array[which] for array in self))

    def first(self, count: int) -> "Parts":
        """Return the first parts of each row."""
        return Parts(*(array[:, :count] for array in self))

    def to(self, place: torch.device) -> "Parts":
        """Return the same on a device."""
        return Parts(*(array.to(place) for array in self))


class Candidates(nn.Module):
    """Keys and values of the parts of one side.

    Args:
        width: Numbers of a part.
        dims: D.
    """

    def __init__(self, width: int, dims: int) -> None:
        super().__init__()
        self.keys, self.values = linear(width, dims), linear(width, dims)
        self.context = linear(width, dims, bias=False)

    def forward(self, parts: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        """Return keys and values side by side, (b, l, 2 D).

        Args:
            parts: (b, l, width).
            context: m or n, (b, width).
        """
        rows = parts.flatten(0, 1)
        keys = self.keys(rows).view(*parts.shape[:2], -1) + self.context(context)[:, None]
        return torch.cat([keys, self.values(rows).view(keys.shape)], 2)


class Selection(nn.Module):
    """Attention to the parts of one side, by the state of each pair."""

    def __init__(self, dims: int) -> None:
        super().__init__()
        self.of_state, self.weigh = linear(dims, dims, bias=False), linear(dims, 1, bias=False)

    def forward(self, parts: Parts, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what is selected (n, m, D), and the weights (n, m, l), of states (n, m, D)."""
        moved = self.of_state(states.flatten(0, 1)).view(states.shape)
        hidden = (parts.keys[:, None] + moved[:, :, None]).sigmoid()  # (n, m, l, D)
        scores = hidden @ self.weigh.weight[0]
        weights = scores.masked_fill(~parts.inside[:, None], -torch.inf).softmax(2)
        return weights @ parts.values, weights


class SelectiveLSTM(nn.Module):
    """The score of every image and every caption.

    Args:
        dims: D, units of all layers.
        steps: T.
    """

    def __init__(self, dims: int, steps: int) -> None:
        super().__init__()
        self.dims, self.steps = dims, steps
        self.regions, self.words = Selection(dims), Selection(dims)
        self.aggregate = nn.LSTMCell(dims, dims)
        self.hidden, self.judge = linear(dims, dims), linear(dims, 1, bias=False)

    def forward(
        self, regions: Parts, words: Parts
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Score n images and m captions.

        Returns:
            Scores (n, m); sums over the steps of the weights of regions, (n, m, l), and of words,
            (n, m, t).
        """
        shape = len(regions.keys), len(words.keys)
        none, state = regions.keys.new_zeros(1, 1, self.dims), None
        of_image, of_text = (none.expand(count, 1, -1) for count in shape)  # knows no pair yet
        by_region, by_word = [], []
        for _ in range(self.steps):
            image, p = self.regions(regions, of_image)
            text, q = self.words(words, of_text)
            local = (image + text.transpose(0, 1)).sigmoid()  # (n, m, D)
            state = self.aggregate(local.flatten(0, 1), state)
            of_image = state[0].view(local.shape)
            of_text = of_image.transpose(0, 1)
            by_region.append(p.expand(*shape, -1))
            by_word.append(q.transpose(0, 1).expand(*shape, -1))
        assert state
        scores = self.judge(self.hidden(state[0]).sigmoid()).view(shape)
        return scores, total(by_region), total(by_word)


def scores_to_learn(
    network: SelectiveLSTM, regions: Parts, words: Parts
) -> tuple[torch.Tensor, ...]:
    """Return what the network does, in tiles that are computed again for their gradients."""
    blocks = [*_blocks(regions, words)]
    if len(blocks) == 1:
        return network(regions, words)
    tiles = [
        checkpoint(network, block, words, use_reentrant=False, preserve_rng_state=False)
        for block in blocks
    ]
    return tuple(map(torch.cat, zip(*tiles, strict=True)))


@torch.inference_mode()
def all_scores(network: SelectiveLSTM, regions: Parts, words: Parts) -> torch.Tensor:
    """Score every image and every caption, (n, m), in tiles that are computed on the device.

    A tile is of some images and of captions of about as many words.
    """
    counts, place = words.inside.sum(1), device()
    order = counts.argsort(stable=True)
    columns = []
    for which in order.split(CAPTIONS):
        group = words.rows(which).first(int(counts[which].max())).to(place)
        tiles = [network(block.to(place), group)[0] for block in _blocks(regions, group)]
        columns.append(torch.cat(tiles))
    return torch.cat(columns, 1)[:, order.argsort().to(place)]


def _blocks(regions: Parts, words: Parts) -> Iterator[Parts]:
    """Yield some images at a time, which fit a tile with these captions."""
    of_image = len(words.keys) * max(regions.keys[0].numel(), words.keys[0].numel())
    size = max(1, TILE[words.keys.device.type] // of_image)
    for start in range(0, len(regions.keys), size):
        yield regions.rows(slice(start, start + size))
