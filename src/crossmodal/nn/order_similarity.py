"""The order similarity of images and captions: how little a caption says beyond its image.

    S(i, c) = -|max(0, c - i)|^2

Source: Vendrov et al. 2016; Vilalta et al. 2019, equation 3.
"""

import math
from collections.abc import Iterator

import torch
from torch.autograd.function import once_differentiable

from crossmodal.nn.typed import Context

# elements of a tile: on a CPU it is several times faster if its cache holds them
TILE = {"cpu": 2**18, "cuda": 2**26}


def order_similarity(images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
    """Return S (n, m), differentiable, in bounded memory for any n and m.

    Args:
        images: (n, d).
        captions: (m, d).
    """
    return _OrderSimilarity.apply(images, captions)


class _OrderSimilarity(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(images, captions)
        scores = images.new_empty(len(images), len(captions))
        for rows, columns in _tiles(images, captions):
            beyond = _beyond(images[rows], captions[columns])
            scores[rows, columns] = beyond.square_().sum(2).neg_()
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Context, d_scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        images, captions = ctx.saved_tensors
        d_images, d_captions = torch.zeros_like(images), torch.zeros_like(captions)
        for rows, columns in _tiles(images, captions):
            beyond = _beyond(images[rows], captions[columns])
            beyond.mul_(2 * d_scores[rows, columns, None])
            d_images[rows] += beyond.sum(1)
            d_captions[columns] -= beyond.sum(0)
        return d_images, d_captions


def _beyond(images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
    """Return max(0, c - i), (n, m, d)."""
    return (captions - images[:, None]).clamp_(min=0)


def _tiles(images: torch.Tensor, captions: torch.Tensor) -> Iterator[tuple[slice, slice]]:
    """Yield ranges of images and captions whose differences fit a tile."""
    side = max(1, math.isqrt(TILE[images.device.type] // images.shape[1]))
    for row in range(0, len(images), side):
        for column in range(0, len(captions), side):
            yield slice(row, row + side), slice(column, column + side)
