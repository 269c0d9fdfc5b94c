"""The order similarity of images and captions: how little a caption says beyond its image.

    S(i, c) = -|max(0, c - i)|^2, or without the square

Source: Vendrov et al. 2016; Vilalta et al. 2019, equation 3. The norm itself: released code of
Faghri et al. 2018.
"""

import math
from collections.abc import Iterator

import torch
from torch.autograd.function import once_differentiable

from crossmodal.nn.typed import Context

# elements of a tile: on a CPU it is several times faster if its cache holds them
TILE = {"cpu": 2**18, "cuda": 2**26}


def order_similarity(
    images: torch.Tensor, captions: torch.Tensor, squared: bool = True
) -> torch.Tensor:
    """Return S (n, m), differentiable, in bounded memory for any n and m.

    Where a caption is below its image everywhere, S and its gradient are 0, also without the
    square, whose norm has no derivative there.

    Args:
        images: (n, d).
        captions: (m, d).
        squared: Whether the norm is squared.
    """
    return _OrderSimilarity.apply(images, captions, squared)


class _OrderSimilarity(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context, images: torch.Tensor, captions: torch.Tensor, squared: bool
    ) -> torch.Tensor:
        scores = images.new_empty(len(images), len(captions))
        for rows, columns in _tiles(images, captions):
            squares = _beyond(images[rows], captions[columns]).square_().sum(2)
            scores[rows, columns] = (squares if squared else squares.sqrt_()).neg_()
        ctx.squared = squared
        ctx.save_for_backward(images, captions, *(() if squared else (scores,)))
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Context, d_scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        images, captions, *norms = ctx.saved_tensors
        slopes = _slopes(d_scores, norms[0]) if norms else 2 * d_scores
        d_images, d_captions = torch.zeros_like(images), torch.zeros_like(captions)
        for rows, columns in _tiles(images, captions):
            beyond = _beyond(images[rows], captions[columns])
            beyond.mul_(slopes[rows, columns, None])
            d_images[rows] += beyond.sum(1)
            d_captions[columns] -= beyond.sum(0)
        return d_images, d_captions, None


def _slopes(d_scores: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Return what max(0, c - i) is multiplied by in the gradient of its negative norm."""
    return torch.where(scores < 0, -d_scores / scores, 0)


def _beyond(images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
    """Return max(0, c - i), (n, m, d)."""
    return (captions - images[:, None]).clamp_(min=0)


def _tiles(images: torch.Tensor, captions: torch.Tensor) -> Iterator[tuple[slice, slice]]:
    """Yield ranges of images and captions whose differences fit a tile."""
    side = max(1, math.isqrt(TILE[images.device.type] // images.shape[1]))
    for row in range(0, len(images), side):
        for column in range(0, len(captions), side):
            yield slice(row, row + side), slice(column, column + side)
