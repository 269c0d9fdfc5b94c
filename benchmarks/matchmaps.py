"""Parts of SISA, MISA and SIMA on a processor, next to PyTorch's plain operations.

A step of the convolution of maps, forwards and backwards: of 32 images of `scenes_vase`, 3,120
channels of 3 by 3, to 128; the peer is `conv2d`, for SISA with the mean of its positions. Scores of
100 images and 5,000 clips, whose lengths vary as those of Flickr8k's spoken captions; the peer
compares all at once, padded, by `einsum`. Results are compared first. One thread; both take turns,
the best round of each counts.
Run: PYTHONPATH=. python benchmarks/matchmaps.py
"""

from functools import partial

import torch
from torch.nn.functional import conv2d

from benchmarks.ratio import Row, in_turns, named, show
from crossmodal.nn.map_convolution import MapConvolution
from crossmodal.nn.matchmap_similarity import all_scores, steps_inside

ROUNDS = 10
BATCH, CHANNELS, SIDE, WIDTH = 32, 3_120, 3, 128
IMAGES, CLIPS, LONGEST, LENGTH = 100, 5_000, 40, (5.6, 2.2)  # steps: gamma, shape and scale


def step(layer, read):
    """Read the maps and add the gradient of a loss to the weights."""
    layer.zero_grad()
    found = read()
    found.square().sum().backward()
    return found.detach()


def convolved(layer, maps):
    """All positions by PyTorch's convolution."""
    return conv2d(maps, layer.weight, layer.bias, padding=1).flatten(2).transpose(1, 2)


def scores(positions, steps, counts, kind):
    """All clips at once, with their padding."""
    maps = torch.einsum("nld,mtd->nmlt", positions, steps)
    inside = steps_inside(steps, counts)
    if kind == "sima":
        return maps.masked_fill(~inside[:, None], -torch.inf).amax(-1).mean(-1)
    return maps.amax(-2).where(inside, 0).sum(-1) / inside.sum(-1)


def compared(name, size, ours, peer):
    torch.testing.assert_close(ours(), peer(), rtol=1e-3, atol=1e-3)
    return Row(name, size, named("torch"), *in_turns(ours, peer, rounds=ROUNDS))


def ratios():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layer, maps = MapConvolution(CHANNELS, WIDTH, 3), torch.randn(BATCH, CHANNELS, SIDE, SIDE)
    plain = partial(convolved, layer, maps)
    size = f"{BATCH} images, {CHANNELS:,} channels of {SIDE} x {SIDE}"
    yield compared(
        "Positions of MISA and SIMA, a step",
        size,
        partial(step, layer, partial(layer, maps)),
        partial(step, layer, plain),
    )
    yield compared(
        "Mean position of SISA, a step",
        size,
        partial(step, layer, partial(layer.mean, maps)),
        partial(step, layer, lambda: plain().mean(1)),
    )
    counts = torch.distributions.Gamma(LENGTH[0], 1 / LENGTH[1]).sample((CLIPS,))
    counts = counts.clamp(1, LONGEST).long()
    data = torch.randn(IMAGES, SIDE * SIDE, WIDTH), torch.randn(CLIPS, LONGEST, WIDTH), counts
    for kind in ("misa", "sima"):
        ours, peer = (partial(compare, *data, kind) for compare in (all_scores, scores))
        yield compared(f"Scores of {kind.upper()}", f"{IMAGES} images, {CLIPS:,} clips", ours, peer)


if __name__ == "__main__":
    show(ratios())
