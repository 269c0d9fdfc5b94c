"""Cycle consistency: rebuild a batch from the other modality, twice, and come back to the start.

    rec(Q; K) = softmax(beta Q K^T) K,   the softmax over the rows of K
    A1 = rec(A; I),   I1 = rec(I; A),   A2 = rec(A1; I1),   I2 = rec(I1; A1)
    L = |A2 - A|^2 + |I2 - I|^2                                          (Frobenius norms)

Source: Cheng et al., IEEE TMM 2022, equations 11 to 30. Rows are unit vectors, so the first scores
are cosines; the second are the inner products of the reconstructions, which are shorter.
"""

import torch


def reconstruct(
    queries: torch.Tensor, keys: torch.Tensor, inverse_temperature: float
) -> torch.Tensor:
    """Each query as the mean of the keys, weighted by their similarity to it.

    Args:
        queries: Q, (n, d).
        keys: K, (m, d); those of several modalities stand below each other.
        inverse_temperature: beta >= 0; 0 gives the plain mean.
    """
    weights = torch.softmax(inverse_temperature * queries @ keys.T, dim=1)  # (n, m)
    return weights @ keys


def two_stream_cycle_loss(
    first: torch.Tensor, second: torch.Tensor, inverse_temperature: float
) -> torch.Tensor:
    """The cycle loss of two modalities, a sum over the batch.

    Args:
        first: A, unit rows, (n, d).
        second: I, unit rows, (n, d), in any order: the loss does not see which rows are pairs.
        inverse_temperature: beta >= 0.

    Returns:
        A scalar between 0 and, in practice, 2n. It is 0 for perfect cycles, and for collapse.
    """
    first_once = reconstruct(first, second, inverse_temperature)
    second_once = reconstruct(second, first, inverse_temperature)
    first_twice = reconstruct(first_once, second_once, inverse_temperature)
    second_twice = reconstruct(second_once, first_once, inverse_temperature)
    return (first_twice - first).square().sum() + (second_twice - second).square().sum()
