"""The ranking hinge that SAM, the captioning pipelines and VASE share."""

import torch


def ranking_loss(
    scores: torch.Tensor,
    margin: torch.Tensor | float,
    negatives: torch.Tensor | None = None,
) -> torch.Tensor:
    """Hinge of every pair against all its in-batch negatives, both directions, summed.

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
