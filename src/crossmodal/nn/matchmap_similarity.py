"""Similarity of an image and a clip from the similarities of their parts.

    M_lt = <I_l, A_t>                        positions l of the image, steps t of the clip

    SISA = mean_l mean_t M      MISA = mean_t max_l M      SIMA = mean_l max_t M

Plain inner products, no normalisation. Source: Harwath et al., Jointly discovering visual objects
and spoken words, ECCV 2018.
"""

from collections.abc import Sequence
from typing import Literal

import torch

from crossmodal.device import device
from crossmodal.nn.onednn import linear

Similarity = Literal["sisa", "misa", "sima"]
BLOCK_ELEMENTS = 2**25  # of matchmaps, held at once
CLIPS = 256  # of about the same length, compared at once


def pool_steps(
    steps: torch.Tensor, counts: torch.Tensor, similarity: Similarity
) -> tuple[torch.Tensor, torch.Tensor]:
    """Reduce clips (m, t, d) to what the similarity reads: for SISA the mean step, (m, 1, d).

    Args:
        steps: Steps, padded with anything.
        counts: How many steps each clip has, (m,).
        similarity: Which.

    Returns:
        Steps and their counts.
    """
    if similarity != "sisa":
        return steps, counts
    inside = steps_inside(steps, counts)[:, :, None]  # (m, t, 1)
    means = steps.where(inside, 0).sum(1, keepdim=True) / inside.sum(1, keepdim=True)
    return means, torch.ones_like(counts)


def paired_scores(
    positions: torch.Tensor, steps: torch.Tensor, counts: torch.Tensor, similarity: Similarity
) -> torch.Tensor:
    """Score image i and clip i, (b,).

    Args:
        positions: (b, l, d).
        steps: (b, t, d), padded with anything finite.
        counts: How many steps each clip has, (b,).
        similarity: Which.
    """
    maps = positions @ steps.transpose(1, 2)  # (b, l, t)
    return _reduce(maps, steps_inside(steps, counts)[:, None], similarity)


def all_scores(
    positions: torch.Tensor, steps: torch.Tensor, counts: torch.Tensor, similarity: Similarity
) -> torch.Tensor:
    """Score every image and every clip, (n, m), in tiles of bounded memory.

    A tile is of some images and of clips with about as many steps, so that little of it is padding.
    Tiles are computed on the device, also of tensors that are not there, as they may not fit.

    Args:
        positions: (n, l, d).
        steps: (m, t, d), padded with anything; with finite numbers where gradients are wanted.
        counts: How many steps each clip has, (m,).
        similarity: Which.
    """
    order = counts.argsort(stable=True)
    longest = max(1, int(counts.max()))
    most = max(1, BLOCK_ELEMENTS // (positions.shape[1] * longest))  # maps of a tile
    columns = [
        _tile_columns(
            positions.split(max(1, most // len(rows))), steps[rows], counts[rows], similarity
        )
        for rows in order.split(min(most, CLIPS))
    ]
    return torch.cat(columns, 1)[:, order.argsort().to(columns[0].device)]


def _tile_columns(
    blocks: Sequence[torch.Tensor],
    steps: torch.Tensor,
    counts: torch.Tensor,
    similarity: Similarity,
) -> torch.Tensor:
    """Score blocks of images and clips that are compared at once, (n, m)."""
    place = device()
    steps = steps[:, : int(counts.max())].to(place)
    inside = steps_inside(steps, counts)[:, None]  # (m, 1, t)
    rows = steps.flatten(0, 1)
    tiles = []
    for block in blocks:
        maps = linear(block.to(place).flatten(0, 1), rows, None)  # (n l, m t)
        maps = maps.view(*block.shape[:2], *steps.shape[:2]).transpose(1, 2)
        tiles.append(_reduce(maps, inside, similarity))
    return torch.cat(tiles)


def steps_inside(steps: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Return true for steps of the clip, false for its padding: (m, t).

    Args:
        steps: (m, t, d).
        counts: How many steps each clip has, (m,).
    """
    indices = torch.arange(steps.shape[1], device=steps.device)
    return indices < counts.to(steps.device)[:, None]


def _reduce(maps: torch.Tensor, inside: torch.Tensor, similarity: Similarity) -> torch.Tensor:
    """Reduce matchmaps (..., l, t) to scores (...) by their steps `inside` (..., 1, t)."""
    if similarity == "sima":
        return maps.masked_fill(~inside, -torch.inf).amax(-1).mean(-1)
    steps = maps.amax(-2) if similarity == "misa" else maps.mean(-2)  # (..., t)
    inside = inside.squeeze(-2)
    return steps.where(inside, 0).sum(-1) / inside.sum(-1)
