"""Losses that methods share: ranking hinges, and the reconstruction error."""

from collections.abc import Iterable
from functools import reduce
from typing import Literal

import torch

Hardest = Literal["negative", "anchor"]


def ranking_loss(
    scores: torch.Tensor,
    margin: torch.Tensor | float,
    negatives: torch.Tensor | None = None,
) -> torch.Tensor:
    """Sum the hinges of every pair against all its in-batch negatives, in both directions.

    sum_ij N_ij [ max(0, F_ij - S_ii + S_ij) + max(0, F_ij - S_ii + S_ji) ]

    Semedo and Magalhaes 2019, equation 4; with a constant margin the sum of hinges of Kiros et al.
    2014 (Vilalta et al. 2019, equation 1) and equations 8 to 10 of Cheng et al. 2022.

    Args:
        scores: S (b, b), similarity of row i of one modality to row j of the other; pairs (i, i).
        margin: F (b, b), or one margin for all.
        negatives: N (b, b) bool, which rows are negatives; by default all but the pair itself.

    Returns:
        The sum, a scalar: divide it where a mean is wanted.
    """
    if negatives is None:
        negatives = ~torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    positive = scores.diagonal()[:, None]  # (b, 1)
    first = (margin - positive + scores).clamp(min=0)  # (b, b)
    second = (margin - positive + scores.T).clamp(min=0)  # (b, b)
    return ((first + second) * negatives).sum()


def total(losses: Iterable[torch.Tensor]) -> torch.Tensor:
    """Return the sum of losses, added in this order."""
    return reduce(torch.Tensor.add, losses)


def squared_error(predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Average the squared distances of the rows of two arrays (b, d), a scalar."""
    return (predictions - targets).square().sum(1).mean()


def hardest_ranking_loss(
    scores: torch.Tensor, margin: float, negatives: torch.Tensor, hardest: Hardest
) -> torch.Tensor:
    """Sum the hinges of every pair against its hardest in-batch negative, in both directions.

    sum_i max_j A_ij + sum_j max_i B_ij,
    A_ij = N_ij max(0, a + S_ij - S_ii),   B_ij = N_ji max(0, a + S_ij - S_jj)

    Faghri et al. 2018; Vilalta et al. 2019, equation 4. The latter's released code takes each
    maximum over the other index instead: every negative counts for its worst anchor.

    Args:
        scores: S (b, b), similarity of row i of one modality to row j of the other; pairs (i, i).
        margin: a.
        negatives: N (b, b) bool, j being a negative of i.
        hardest: 'negative', as published, or 'anchor', as released.

    Returns:
        The sum, a scalar.
    """
    positive = scores.diagonal()
    first = (margin + scores - positive[:, None]).clamp(min=0) * negatives  # A (b, b)
    second = (margin + scores - positive).clamp(min=0) * negatives.T  # B (b, b)
    across = 1 if hardest == "negative" else 0
    return first.amax(across).sum() + second.amax(1 - across).sum()


def draw_impostors(negatives: torch.Tensor) -> torch.Tensor:
    """Draw a negative of each row, all equally likely: (b,).

    A row without negatives is its own impostor, whose hinge has no gradient.

    Args:
        negatives: (b, b) bool, j being a negative of i.
    """
    itself = torch.eye(len(negatives), dtype=torch.bool, device=negatives.device)
    choices = negatives | (itself & ~negatives.any(1, keepdim=True))
    return torch.multinomial(choices.float(), 1)[:, 0]


def impostor_loss(
    positive: torch.Tensor, wrong_first: torch.Tensor, wrong_second: torch.Tensor, margin: float
) -> torch.Tensor:
    """Average over the pairs the hinges against one impostor on either side.

    Harwath et al. 2018.

    Args:
        positive: Score of each pair, (b,).
        wrong_first: Score with an impostor in place of its first part, (b,).
        wrong_second: Score with an impostor in place of its second part, (b,).
        margin: a.
    """
    hinges = (margin + wrong_first - positive).clamp(min=0)
    return (hinges + (margin + wrong_second - positive).clamp(min=0)).mean()


def semi_hard_loss(scores: torch.Tensor, margin: float, negatives: torch.Tensor) -> torch.Tensor:
    """Average over the pairs the hinges against the best impostor that scores below the pair.

    The hinges of both directions are summed. A pair without such an impostor counts as 0;
    the released code takes an impostor of score 0 for it. Harwath et al. 2020.

    Args:
        scores: S (b, b); pairs (i, i).
        margin: a.
        negatives: (b, b) bool, symmetric.
    """
    positive = scores.diagonal()[:, None]
    first, second = (
        (margin + s.masked_fill(~(negatives & (s < positive)), -torch.inf).amax(1) - positive[:, 0])
        for s in (scores, scores.T)
    )
    return (first.clamp(min=0) + second.clamp(min=0)).mean()
