"""Cycle consistency: a batch reconstructed twice from the other modalities, and its error.

    rec(Q; K) = softmax(beta Q K^T) K,   the softmax over the rows of K
    A1 = rec(A; [I; T]),      I1 = rec(I; [A; T]),      T1 = rec(T; [I; A])
    A2 = rec(A1; [I1; T1]),   I2 = rec(I1; [A1; T1]),   T2 = rec(T1; [I1; A1])
    L = |A2 - A|^2 + |I2 - I|^2 + |T2 - T|^2                             (Frobenius norms)

[;] puts rows below each other; with two modalities each is reconstructed from the other. Source:
Cheng et al., IEEE TMM 2022, equations 11 to 30, which call the first scores cosines and print the
second as inner products of the reconstructions, which are shorter. Whether the rows are unit
vectors is left open.
"""

from collections.abc import Sequence

import torch
from torch.nn.functional import normalize


def reconstruct(
    queries: torch.Tensor,
    keys: torch.Tensor,
    inverse_temperature: float,
    cosine: bool = False,
) -> torch.Tensor:
    """Reconstruct each query as the mean of the keys, weighted by their similarity to it.

    Args:
        queries: Q, (n, d).
        keys: K, (m, d); those of several modalities stand below each other.
        inverse_temperature: beta >= 0; 0 gives the plain mean.
        cosine: Similarity of the normalised rows, not of the rows as they are.
    """
    first, second = (normalize(queries), normalize(keys)) if cosine else (queries, keys)
    weights = torch.softmax(inverse_temperature * first @ second.T, dim=1)  # (n, m)
    return weights @ keys


def cycle_loss(
    modalities: Sequence[torch.Tensor],
    inverse_temperature: float,
    first_cosine: bool = True,
) -> torch.Tensor:
    """Return the cycle loss of two or three modalities, a sum over the batch.

    Args:
        modalities: Rows of each modality, (n, d), in any order: the loss does not see which rows
            belong together.
        inverse_temperature: beta >= 0.
        first_cosine: Compare the rows by their cosine, not inner product.

    Returns:
        A scalar; of unit rows, in practice, at most n times the number of modalities. It is 0 for
        perfect cycles, and for collapse.
    """
    once = _rebuild(modalities, inverse_temperature, first_cosine)
    twice = _rebuild(once, inverse_temperature, cosine=False)
    errors = [(x - y).square().sum() for x, y in zip(twice, modalities, strict=True)]
    return sum(errors, start=errors[0].new_zeros(()))


def _rebuild(
    modalities: Sequence[torch.Tensor], inverse_temperature: float, cosine: bool
) -> list[torch.Tensor]:
    """Reconstruct each modality from all others."""
    return [
        reconstruct(
            queries,
            torch.cat([keys for j, keys in enumerate(modalities) if j != i]),
            inverse_temperature,
            cosine,
        )
        for i, queries in enumerate(modalities)
    ]
