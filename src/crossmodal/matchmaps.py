"""Similarity of an image and a clip from the similarities of their parts.

    M_lt = <I_l, A_t>                        places l of the image, steps t of the clip

    SISA = mean_l mean_t M      MISA = mean_t max_l M      SIMA = mean_l max_t M

Plain inner products, no normalisation. Source: Harwath et al., Jointly discovering visual objects
and spoken words, ECCV 2018.
"""

from typing import Literal

import torch

Similarity = Literal["sisa", "misa", "sima"]
BLOCK_NUMBERS = 2**25  # of a matchmap that is held at once without gradients


def pool_places(places: torch.Tensor, similarity: Similarity) -> torch.Tensor:
    """What the similarity needs of images (n, l, d): for SISA the mean place alone, (n, 1, d)."""
    return places.mean(1, keepdim=True) if similarity == "sisa" else places


def pool_steps(
    steps: torch.Tensor, counts: torch.Tensor, similarity: Similarity
) -> tuple[torch.Tensor, torch.Tensor]:
    """What the similarity needs of clips (m, t, d): for SISA the mean step alone, (m, 1, d).

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
    places: torch.Tensor, steps: torch.Tensor, counts: torch.Tensor, similarity: Similarity
) -> torch.Tensor:
    """Score of image i and clip i, (b,).

    Args:
        places: (b, l, d).
        steps: (b, t, d), padded with anything finite.
        counts: How many steps each clip has, (b,).
        similarity: Which.
    """
    return _reduce(places @ steps.transpose(1, 2), steps_inside(steps, counts)[:, None], similarity)


def all_scores(
    places: torch.Tensor, steps: torch.Tensor, counts: torch.Tensor, similarity: Similarity
) -> torch.Tensor:
    """Score of every image and every clip, (n, m), a block of images at a time.

    Args:
        places: (n, l, d).
        steps: (m, t, d), padded with anything finite.
        counts: How many steps each clip has, (m,).
        similarity: Which.
    """
    inside = steps_inside(steps, counts)[:, None]  # (m, 1, t)
    size = max(1, BLOCK_NUMBERS // (places.shape[1] * steps.shape[0] * steps.shape[1]))
    blocks = [
        _reduce(torch.einsum("nld,mtd->nmlt", block, steps), inside, similarity)
        for block in places.split(size)
    ]
    return torch.cat(blocks)


def steps_inside(steps: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Which steps are of the clip, not of its padding: (m, t).

    Args:
        steps: (m, t, d).
        counts: How many steps each clip has, (m,).
    """
    places = torch.arange(steps.shape[1], device=steps.device)
    return places < counts.to(steps.device)[:, None]


def _reduce(maps: torch.Tensor, inside: torch.Tensor, similarity: Similarity) -> torch.Tensor:
    """Scores (...) of matchmaps (..., l, t) whose steps `inside` (..., 1, t) count."""
    if similarity == "sima":
        return maps.masked_fill(~inside, -torch.inf).amax(-1).mean(-1)
    steps = maps.amax(-2) if similarity == "misa" else maps.mean(-2)  # (..., t)
    inside = inside.squeeze(-2)
    return steps.where(inside, 0).sum(-1) / inside.sum(-1)
