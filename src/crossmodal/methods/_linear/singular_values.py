"""Soft thresholding of singular values: the proximal step of the nuclear norm."""

import torch


def soft_threshold(matrix: torch.Tensor, threshold: float) -> torch.Tensor:
    """Return the minimiser X of 1/2 |X - matrix|_F^2 + threshold |X|_*.

    Args:
        matrix: (p, q).
        threshold: >= 0.
    """
    left, right = soft_threshold_factors(matrix, threshold)
    return left @ right.T


def soft_threshold_factors(
    matrix: torch.Tensor, threshold: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return factors (p, r) and (q, r) of the minimiser; each has the norm |X|_*^(1/2)."""
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    above = values > threshold
    roots = (values[above] - threshold).sqrt()
    # contiguous like a loaded checkpoint, so that a resumed fit sums in the same order
    return (left[:, above] * roots).contiguous(), (right[above].T * roots).contiguous()
