"""Batches of pairs of an image and a caption, written or spoken."""

from typing import Literal, NamedTuple

import numpy as np
import torch

from crossmodal.nn.sequences import batches_of_similar_length
from crossmodal.training.gradient import shuffled_batches


class Batch(NamedTuple):
    """Pairs of an image and a caption.

    Args:
        images: Rows of the images, (b,).
        captions: Rows of the captions, (b,).
        crops: A random crop of each image, (b, crop, crop, 3) uint8 RGB, where a network reads it.
    """

    images: np.ndarray
    captions: np.ndarray
    crops: torch.Tensor | None = None


def draw_pairs(
    owners: np.ndarray,
    which: Literal["all", "one"],
    size: int,
    rng: np.random.Generator,
    lengths: np.ndarray | None = None,
) -> list[Batch]:
    """Draw the batches of an epoch; a last batch of one pair, without negatives, is dropped.

    Args:
        owners: Image of each caption, (n,), captions of one image side by side.
        which: All captions, or a random one of each image.
        size: Pairs of a batch.
        rng: Draws captions and order.
        lengths: Length of each caption, (n,), if those of a batch shall be similar.
    """
    captions = epoch_captions(owners, which, rng)
    if lengths is None:
        batches = shuffled_batches(len(captions), size, rng, drop_last=False)
    else:
        batches = batches_of_similar_length(lengths[captions], size, rng)
    return [Batch(owners[captions[r]], captions[r]) for r in batches if len(r) > 1]


def epoch_captions(
    owners: np.ndarray, which: Literal["all", "one"], rng: np.random.Generator
) -> np.ndarray:
    """Return the captions of an epoch: all, or a random one of each image.

    Args:
        owners: Image of each caption, (n,), captions of one image side by side.
        which: The option `captions_per_epoch`.
        rng: Draws them.
    """
    if which == "all":
        return np.arange(len(owners))
    _, first, counts = np.unique(owners, return_index=True, return_counts=True)
    return first + rng.integers(counts)
